/* The interface of IBM's zDNN library, 1.0 and 1.1, as its documentation gives it: names, numbers,
 * layouts. Written anew for the twin; programs made for the vendor's header compile with this one.
 */
#ifndef ZDNN_TWIN_ZDNN_H
#define ZDNN_TWIN_ZDNN_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In C++ an enumeration has a fixed size, so that a wrong number from a caller is only a wrong
 * number. */
#ifdef __cplusplus
#define ZDNN_ENUM : uint32_t
extern "C" {
#else
#define ZDNN_ENUM
#endif

#define ZDNN_VERSION "1.1.2"
#define ZDNN_VERNUM 0x010102 /* 0x[major][minor][patch] */
#define ZDNN_VER_MAJOR 1
#define ZDNN_VER_MINOR 1
#define ZDNN_VER_PATCH 2

/* ---- status codes: class in the upper half ---- */

#define ZDNN_WARNING 0x00020000
#define ZDNN_PARAMETER_ERROR 0x00040000
#define ZDNN_DATA_ERROR 0x00100000
#define ZDNN_HW_ERROR 0x000c0000

typedef enum zdnn_status ZDNN_ENUM {
  ZDNN_OK = 0,
  ZDNN_ELEMENT_RANGE_VIOLATION = ZDNN_WARNING + 0x0001,
  ZDNN_INVALID_SHAPE = ZDNN_PARAMETER_ERROR + 0x0001,
  ZDNN_INVALID_LAYOUT = ZDNN_PARAMETER_ERROR + 0x0002,
  ZDNN_INVALID_TYPE = ZDNN_PARAMETER_ERROR + 0x0003,
  ZDNN_INVALID_FORMAT = ZDNN_PARAMETER_ERROR + 0x0004,
  ZDNN_INVALID_DIRECTION = ZDNN_PARAMETER_ERROR + 0x0005,
  ZDNN_INVALID_CONCAT_INFO = ZDNN_PARAMETER_ERROR + 0x0006,
  ZDNN_INVALID_STRIDE_PADDING = ZDNN_PARAMETER_ERROR + 0x0007,
  ZDNN_INVALID_STRIDES = ZDNN_PARAMETER_ERROR + 0x0008,
  ZDNN_MISALIGNED_PARMBLOCK = ZDNN_PARAMETER_ERROR + 0x0009,
  ZDNN_INVALID_CLIPPING_VALUE = ZDNN_PARAMETER_ERROR + 0x000A,
  ZDNN_INVALID_ADJUSTMENT_FACTOR = ZDNN_PARAMETER_ERROR + 0x000B,
  ZDNN_INVALID_EPSILON = ZDNN_PARAMETER_ERROR + 0x000C,
  ZDNN_INVALID_TRANSFORM_TYPE = ZDNN_PARAMETER_ERROR + 0x000D,
  ZDNN_INVALID_BETA = ZDNN_PARAMETER_ERROR + 0x000E,
  ZDNN_INVALID_GAMMA = ZDNN_PARAMETER_ERROR + 0x000F,
  ZDNN_INVALID_BESSEL_CORRECTION = ZDNN_PARAMETER_ERROR + 0x0010,
  ZDNN_INVALID_SCALE = ZDNN_PARAMETER_ERROR + 0x0011,
  ZDNN_INVALID_OFFSET = ZDNN_PARAMETER_ERROR + 0x0012,
  ZDNN_ALLOCATION_FAILURE = ZDNN_DATA_ERROR + 0x0001,
  ZDNN_INVALID_BUFFER = ZDNN_DATA_ERROR + 0x0002,
  ZDNN_CONVERT_FAILURE = ZDNN_DATA_ERROR + 0x0003,
  ZDNN_INVALID_STATE = ZDNN_DATA_ERROR + 0x0004,
  ZDNN_UNSUPPORTED_AIU_EXCEPTION = ZDNN_DATA_ERROR + 0x0005,
  /* ZDNN_HW_ERROR + the response code of the machine's instruction */
  ZDNN_UNSUPPORTED_PARMBLOCK = ZDNN_HW_ERROR + 0x0001,
  ZDNN_UNAVAILABLE_FUNCTION = ZDNN_HW_ERROR + 0x0002,
  ZDNN_UNSUPPORTED_FORMAT = ZDNN_HW_ERROR + 0x0010,
  ZDNN_UNSUPPORTED_TYPE = ZDNN_HW_ERROR + 0x0011,
  ZDNN_EXCEEDS_MDIS = ZDNN_HW_ERROR + 0x0012,
  ZDNN_EXCEEDS_MTS = ZDNN_HW_ERROR + 0x0013,
  ZDNN_MISALIGNED_TENSOR = ZDNN_HW_ERROR + 0x0014,
  ZDNN_MISALIGNED_SAVEAREA = ZDNN_HW_ERROR + 0x0015,
  ZDNN_FUNC_RC_F000 = ZDNN_HW_ERROR + 0xF000,
  ZDNN_FUNC_RC_F001 = ZDNN_HW_ERROR + 0xF001,
  ZDNN_FUNC_RC_F002 = ZDNN_HW_ERROR + 0xF002,
  ZDNN_FUNC_RC_F003 = ZDNN_HW_ERROR + 0xF003,
  ZDNN_FUNC_RC_F004 = ZDNN_HW_ERROR + 0xF004,
  ZDNN_FUNC_RC_F005 = ZDNN_HW_ERROR + 0xF005,
  ZDNN_FUNC_RC_F006 = ZDNN_HW_ERROR + 0xF006,
  ZDNN_FUNC_RC_F007 = ZDNN_HW_ERROR + 0xF007,
  ZDNN_FUNC_RC_F008 = ZDNN_HW_ERROR + 0xF008,
  ZDNN_FUNC_RC_F009 = ZDNN_HW_ERROR + 0xF009
} zdnn_status;

/* ---- numbers of the machine (z/Architecture Principles of Operation, NNPA) ---- */

typedef enum nnpa_function_code ZDNN_ENUM {
  NNPA_QAF = 0,
  NNPA_ADD = 16,
  NNPA_SUB = 17,
  NNPA_MUL = 18,
  NNPA_DIV = 19,
  NNPA_MIN = 20,
  NNPA_MAX = 21,
  NNPA_LOG = 32,
  NNPA_EXP = 33,
  NNPA_SQRT = 34,
  NNPA_INVSQRT = 35,
  NNPA_RELU = 49,
  NNPA_TANH = 50,
  NNPA_SIGMOID = 51,
  NNPA_SOFTMAX = 52,
  NNPA_GELU = 53,
  NNPA_BATCHNORMALIZATION = 64,
  NNPA_MOMENTS = 65,
  NNPA_LAYERNORM = 66,
  NNPA_NORM = 67,
  NNPA_MAXPOOL2D = 80,
  NNPA_AVGPOOL2D = 81,
  NNPA_LSTMACT = 96,
  NNPA_GRUACT = 97,
  NNPA_CONVOLUTION = 112,
  NNPA_MATMUL_OP = 113,
  NNPA_MATMUL_OP_BCAST23 = 114,
  NNPA_MATMUL_OP_BCAST1 = 115,
  NNPA_TRANSFORM = 240,
  NNPA_REDUCE = 241
} nnpa_function_code;

typedef enum nnpa_parmblk_format ZDNN_ENUM {
  NNPA_PARMBLKFORMAT_0 = 0,
  NNPA_PARMBLKFORMAT_1 = 1
} nnpa_parmblk_format;

typedef enum nnpa_data_type ZDNN_ENUM {
  NNPA_DATATYPE_1 = 0,
  NNPA_32_BIT_BINARY_FP_SHORT = 6,
  NNPA_8_BIT_BINARY_INT = 8,
  NNPA_32_BIT_BINARY_INT = 10
} nnpa_data_type;

typedef enum nnpa_layout_format ZDNN_ENUM {
  NNPA_LAYOUTFMT_4DFEATURE = 0,
  NNPA_LAYOUTFMT_4DKERNEL = 1,
  NNPA_LAYOUTFMT_4DWEIGHTS = 2,
  NNPA_LAYOUTFMT_4DGENERIC = 31
} nnpa_layout_format;

typedef enum nnpa_bfp_format ZDNN_ENUM {
  NNPA_BFPFMT_TINY = 1,
  NNPA_BFPFMT_SHORT = 2
} nnpa_bfp_format;

/* Bytes of scratch memory that softmax, reduce and transform need, at a multiple of 4 KiB. */
#define ZDNN_SOFTMAX_SAVEAREA_SIZE (8 * 1024)
#define ZDNN_8K_SAVEAREA_SIZE (8 * 1024)

typedef enum nnpa_matmul_operations ZDNN_ENUM {
  NNPA_MATMUL_OP_ADDITION = 0,
  NNPA_MATMUL_OP_COMP_HIGH = 1,
  NNPA_MATMUL_OP_COMP_NOT_LOW = 2,
  NNPA_MATMUL_OP_COMP_EQUAL = 3,
  NNPA_MATMUL_OP_COMP_NOT_EQUAL = 4,
  NNPA_MATMUL_OP_COMP_NOT_HIGH = 5,
  NNPA_MATMUL_OP_COMP_LOW = 6
} nnpa_matmul_operations;

typedef enum nnpa_matmul_bcast_operations ZDNN_ENUM {
  NNPA_MATMUL_BCAST_OP_ADDITION = 0,
  NNPA_MATMUL_BCAST_OP_COMP_HIGH = 1,
  NNPA_MATMUL_BCAST_OP_COMP_NOT_LOW = 2,
  NNPA_MATMUL_BCAST_OP_COMP_EQUAL = 3,
  NNPA_MATMUL_BCAST_OP_COMP_NOT_EQUAL = 4,
  NNPA_MATMUL_BCAST_OP_COMP_NOT_HIGH = 5,
  NNPA_MATMUL_BCAST_OP_COMP_LOW = 6
} nnpa_matmul_bcast_operations;

typedef enum nnpa_softmax_act ZDNN_ENUM {
  NNPA_SOFTMAX_NONE = 0,
  NNPA_SOFTMAX_LOG = 1
} nnpa_softmax_act;

typedef enum nnpa_reduce_operations ZDNN_ENUM {
  NNPA_REDUCE_OP_MINIMUM = 0,
  NNPA_REDUCE_OP_MINIMUM_IDX = 1,
  NNPA_REDUCE_OP_MAXIMUM = 2,
  NNPA_REDUCE_OP_MAXIMUM_IDX = 3
} nnpa_reduce_operations;

/* What zdnn_is_nnpa_*_installed() take: bits counted from the left. */
#define MSB_BITMASK(field_size, pos) (1u << (((field_size)-1) - (pos)))

typedef enum zdnn_query_datatypes ZDNN_ENUM {
  QUERY_DATATYPE_INTERNAL1 = 0x8000,
  QUERY_DATATYPE_BINARY_FP32 = 0x0200,
  QUERY_DATATYPE_BINARY_INT8 = 0x0080,
  QUERY_DATATYPE_BINARY_INT32 = 0x0020
} zdnn_query_datatypes;

/* A number beyond int, which C has in an enumeration since C23 only. */
__extension__ typedef enum zdnn_query_layoutfmts ZDNN_ENUM {
  QUERY_LAYOUTFMT_4DFEATURE = 0x80000000u,
  QUERY_LAYOUTFMT_4DKERNEL = 0x40000000,
  QUERY_LAYOUTFMT_4DWEIGHTS = 0x20000000,
  QUERY_LAYOUTFMT_4DGENERIC = 0x00000001
} zdnn_query_layoutfmts;

typedef enum zdnn_query_bfpfmts ZDNN_ENUM {
  QUERY_BFPFMT_TINY = 0x4000,
  QUERY_BFPFMT_SHORT = 0x2000
} zdnn_query_bfpfmts;

/* ---- tensors ---- */

typedef enum zdnn_data_types ZDNN_ENUM {
  ZDNN_DLFLOAT16 = 0, /* these four: transformed */
  ZDNN_BINARY_FP32 = 6,
  ZDNN_BINARY_INT8 = 8,
  ZDNN_BINARY_INT32 = 10,
  INT8 = 251, /* these five: the host's */
  INT32 = 252,
  BFLOAT = 253,
  FP16 = 254,
  FP32 = 255
} zdnn_data_types;

typedef enum zdnn_data_layouts ZDNN_ENUM {
  ZDNN_1D = 0,
  ZDNN_2D = 1,
  ZDNN_2DS = 2,
  ZDNN_3D = 3,
  ZDNN_3DS = 4,
  ZDNN_ZRH = 5,
  ZDNN_4D = 6,
  ZDNN_4DS = 7,
  ZDNN_NHWC = 8,
  ZDNN_NCHW = 9,
  ZDNN_FICO = 10,
  ZDNN_HWCK = 11,
  ZDNN_BIDIR_ZRH = 12,
  ZDNN_BIDIR_FICO = 13
} zdnn_data_layouts;

typedef enum zdnn_data_formats ZDNN_ENUM {
  ZDNN_FORMAT_4DFEATURE = 0,
  ZDNN_FORMAT_4DKERNEL = 1,
  ZDNN_FORMAT_4DWEIGHTS = 2,
  ZDNN_FORMAT_4DGENERIC = 31
} zdnn_data_formats;

typedef enum zdnn_quantized_transform_types ZDNN_ENUM {
  QUANTIZED_DLFLOAT16 = 0,
  QUANTIZED_INT8 = 1,
  QUANTIZED_WEIGHTS_INT8 = 2
} zdnn_quantized_transform_types;

typedef struct zdnn_tensor_desc {
  zdnn_data_layouts layout;
  zdnn_data_formats format;
  zdnn_data_types type;
  uint32_t dim4; /* outermost */
  uint32_t dim3;
  uint32_t dim2;
  uint32_t dim1; /* innermost */
} zdnn_tensor_desc;

typedef struct zdnn_ztensor {
  zdnn_tensor_desc* pre_transformed_desc;
  zdnn_tensor_desc* transformed_desc;
  uint64_t buffer_size;
  void* buffer;
  bool is_transformed;
  char reserved[3]; /* zeros */
  float rec_scale;  /* 1 / scale of a quantised tensor, 0 if it is none; 1.0 had zeros here */
  float offset;
  char reserved2[20]; /* zeros */
} zdnn_ztensor;

typedef uint32_t zdnn_concat_info;

#define BITSHIFT_RNN_TYPE 24
#define BITSHIFT_PREV_LAYER 16
#define BITSHIFT_USAGE 8
#define RNN_TYPE_LSTM (0 << BITSHIFT_RNN_TYPE)
#define RNN_TYPE_GRU (1 << BITSHIFT_RNN_TYPE)
#define PREV_LAYER_UNI (0 << BITSHIFT_PREV_LAYER)
#define PREV_LAYER_NONE PREV_LAYER_UNI
#define PREV_LAYER_BIDIR (1 << BITSHIFT_PREV_LAYER)
#define USAGE_WEIGHTS (0 << BITSHIFT_USAGE)
#define USAGE_HIDDEN_WEIGHTS (1 << BITSHIFT_USAGE)
#define USAGE_BIASES (2 << BITSHIFT_USAGE)
#define USAGE_HIDDEN_BIASES (3 << BITSHIFT_USAGE)
#define CONCAT_RNN_TYPE(info) ((info) & (0xFFu << BITSHIFT_RNN_TYPE))
#define CONCAT_PREV_LAYER(info) ((info) & (0xFFu << BITSHIFT_PREV_LAYER))
#define CONCAT_USAGE(info) ((info) & (0xFFu << BITSHIFT_USAGE))

/* ---- parameters of operations ---- */

typedef enum zdnn_pool_padding ZDNN_ENUM { VALID_PADDING = 0, SAME_PADDING = 1 } zdnn_pool_padding;

typedef enum zdnn_matmul_ops ZDNN_ENUM {
  MATMUL_OP_ADDITION = 0,
  MATMUL_OP_GREATER = 1,
  MATMUL_OP_GREATER_EQUAL = 2,
  MATMUL_OP_EQUAL = 3,
  MATMUL_OP_NOT_EQUAL = 4,
  MATMUL_OP_LESSER_EQUAL = 5,
  MATMUL_OP_LESSER = 6
} zdnn_matmul_ops;

typedef enum zdnn_matmul_bcast_ops ZDNN_ENUM {
  MATMUL_BCAST_OP_ADDITION = 0,
  MATMUL_BCAST_OP_GREATER = 1,
  MATMUL_BCAST_OP_GREATER_EQUAL = 2,
  MATMUL_BCAST_OP_EQUAL = 3,
  MATMUL_BCAST_OP_NOT_EQUAL = 4,
  MATMUL_BCAST_OP_LESSER_EQUAL = 5,
  MATMUL_BCAST_OP_LESSER = 6
} zdnn_matmul_bcast_ops;

typedef enum zdnn_softmax_act ZDNN_ENUM {
  SOFTMAX_ACT_NONE = 0,
  SOFTMAX_ACT_LOG = 1
} zdnn_softmax_act;

typedef enum zdnn_conv2d_act ZDNN_ENUM { CONV2D_ACT_NONE = 0, CONV2D_ACT_RELU = 1 } zdnn_conv2d_act;

typedef enum zdnn_reduce_ops ZDNN_ENUM {
  REDUCE_OP_MINIMUM = 0,
  REDUCE_OP_MINIMUM_IDX = 1,
  REDUCE_OP_MAXIMUM = 2,
  REDUCE_OP_MAXIMUM_IDX = 3
} zdnn_reduce_ops;

typedef enum zdnn_moments_bessel ZDNN_ENUM {
  MOMENTS_BESSEL_POPULATION = 0,
  MOMENTS_BESSEL_SAMPLE = 1
} zdnn_moments_bessel;

typedef enum lstm_gru_direction ZDNN_ENUM { FWD = 0, BWD = 1, BIDIR = 2 } lstm_gru_direction;

/* ---- the library, the machine, versions ---- */

void zdnn_init(void);
bool zdnn_is_nnpa_installed(void);
bool zdnn_is_nnpa_function_installed(int count, ...);
bool zdnn_is_nnpa_parmblk_fmt_installed(int count, ...);
bool zdnn_is_nnpa_datatype_installed(uint16_t types_bitmask);
bool zdnn_is_nnpa_layout_fmt_installed(uint32_t layout_bitmask);
bool zdnn_is_nnpa_conversion_installed(nnpa_data_type type, uint16_t format_bitmask);
uint32_t zdnn_get_nnpa_max_dim_idx_size(void);
uint32_t zdnn_get_max_for_dim(uint8_t dimension); /* since 1.1 */
uint64_t zdnn_get_nnpa_max_tensor_size(void);
zdnn_status zdnn_refresh_nnpa_query_result(void);
bool zdnn_is_version_runnable(uint32_t ver_num);
uint32_t zdnn_get_max_runnable_version(void);
uint32_t zdnn_get_library_version(void);
char* zdnn_get_library_version_str(void);
const char* zdnn_get_status_message(zdnn_status status);
zdnn_status zdnn_get_max_limit(zdnn_data_types transformed_type, /* since 1.1 */
                               zdnn_data_types pre_transformed_type, void* limit);
zdnn_status zdnn_get_min_limit(zdnn_data_types transformed_type, /* since 1.1 */
                               zdnn_data_types pre_transformed_type, void* limit);

/* ---- descriptors and tensors ---- */

void zdnn_init_pre_transformed_desc(zdnn_data_layouts layout, zdnn_data_types type,
                                    zdnn_tensor_desc* pre_tfrmd_desc, ...);
zdnn_status zdnn_generate_transformed_desc(const zdnn_tensor_desc* pre_tfrmd_desc,
                                           zdnn_tensor_desc* tfrmd_desc);
zdnn_status zdnn_generate_quantized_transformed_desc(/* since 1.1 */
                                                     const zdnn_tensor_desc* pre_tfrmd_desc,
                                                     zdnn_quantized_transform_types transform_type,
                                                     zdnn_tensor_desc* tfrmd_desc);
zdnn_status zdnn_generate_transformed_desc_concatenated(const zdnn_tensor_desc* pre_tfrmd_desc,
                                                        zdnn_concat_info info,
                                                        zdnn_tensor_desc* tfrmd_desc);
zdnn_status zdnn_allochelper_ztensor(zdnn_ztensor* ztensor);
zdnn_status zdnn_free_ztensor_buffer(const zdnn_ztensor* ztensor);
void zdnn_init_ztensor(zdnn_tensor_desc* pre_tfrmd_desc, zdnn_tensor_desc* tfrmd_desc,
                       zdnn_ztensor* output);
void zdnn_init_quantized_ztensor(zdnn_tensor_desc* pre_tfrmd_desc, /* since 1.1 */
                                 zdnn_tensor_desc* tfrmd_desc, float scale, float offset,
                                 zdnn_ztensor* output);
zdnn_status zdnn_init_ztensor_with_malloc(zdnn_tensor_desc* pre_tfrmd_desc,
                                          zdnn_tensor_desc* tfrmd_desc, zdnn_ztensor* output);
zdnn_status zdnn_init_quantized_ztensor_with_malloc(zdnn_tensor_desc* pre_tfrmd_desc, /* 1.1 */
                                                    zdnn_tensor_desc* tfrmd_desc, float scale,
                                                    float offset, zdnn_ztensor* output);
bool zdnn_is_quantized_ztensor(zdnn_ztensor* ztensor); /* since 1.1 */
void zdnn_reset_ztensor(zdnn_ztensor* ztensor);
uint64_t zdnn_getsize_ztensor(const zdnn_tensor_desc* tfrmd_desc);
zdnn_status zdnn_getrange_ztensor(const zdnn_ztensor* ztensor, float* min, float* max); /* 1.1 */

/* One pointer to host data; for concatenated tensors three (z, r, h) or four (f, i, c, o). */
zdnn_status zdnn_transform_ztensor(zdnn_ztensor* ztensor, ...);
zdnn_status zdnn_transform_ztensor_with_saturation(zdnn_ztensor* ztensor, ...); /* since 1.1 */
zdnn_status zdnn_transform_quantized_ztensor(zdnn_ztensor* ztensor,             /* since 1.1 */
                                             bool saturation_control, int8_t clip_min,
                                             int8_t clip_max, const void* data);
zdnn_status zdnn_transform_origtensor(const zdnn_ztensor* ztensor, void* out_buf);
zdnn_status zdnn_reshape_ztensor(const zdnn_ztensor* src, zdnn_ztensor* dest);

/* ---- operations: element by element ---- */

zdnn_status zdnn_add(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output);
zdnn_status zdnn_sub(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output);
zdnn_status zdnn_mul(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output);
zdnn_status zdnn_div(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output);
zdnn_status zdnn_min(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output);
zdnn_status zdnn_max(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                     zdnn_ztensor* output);
zdnn_status zdnn_log(const zdnn_ztensor* input, zdnn_ztensor* output);
zdnn_status zdnn_exp(const zdnn_ztensor* input, zdnn_ztensor* output);
zdnn_status zdnn_sqrt(const zdnn_ztensor* input, zdnn_ztensor* output); /* since 1.1 */
zdnn_status zdnn_invsqrt(const zdnn_ztensor* input, float epsilon,      /* since 1.1 */
                         zdnn_ztensor* output);

/* ---- activations; clipping_value points to a float ---- */

zdnn_status zdnn_relu(const zdnn_ztensor* input, const void* clipping_value, zdnn_ztensor* output);
zdnn_status zdnn_leaky_relu(const zdnn_ztensor* input, const void* clipping_value, /* since 1.1 */
                            float adjustment_factor, zdnn_ztensor* output);
zdnn_status zdnn_tanh(const zdnn_ztensor* input, zdnn_ztensor* output);
zdnn_status zdnn_sigmoid(const zdnn_ztensor* input, zdnn_ztensor* output);
zdnn_status zdnn_softmax(const zdnn_ztensor* input, void* save_area, zdnn_softmax_act act_func,
                         zdnn_ztensor* output);
zdnn_status zdnn_softmax_mask(const zdnn_ztensor* input, void* save_area, /* since 1.1 */
                              zdnn_softmax_act act_func, uint32_t softmax_mask,
                              zdnn_ztensor* output);
zdnn_status zdnn_gelu(const zdnn_ztensor* input, zdnn_ztensor* output); /* since 1.1 */

/* ---- recurrent networks ---- */

zdnn_status zdnn_lstm(const zdnn_ztensor* input, const zdnn_ztensor* h0, const zdnn_ztensor* c0,
                      const zdnn_ztensor* weights, const zdnn_ztensor* biases,
                      const zdnn_ztensor* hidden_weights, const zdnn_ztensor* hidden_biases,
                      lstm_gru_direction direction, void* work_area, zdnn_ztensor* hn_output,
                      zdnn_ztensor* cf_output);
zdnn_status zdnn_gru(const zdnn_ztensor* input, const zdnn_ztensor* h0, const zdnn_ztensor* weights,
                     const zdnn_ztensor* biases, const zdnn_ztensor* hidden_weights,
                     const zdnn_ztensor* hidden_biases, lstm_gru_direction direction,
                     void* work_area, zdnn_ztensor* hn_output);

/* ---- matrix multiplication ---- */

zdnn_status zdnn_matmul_op(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                           const zdnn_ztensor* input_c, zdnn_matmul_ops op_type,
                           zdnn_ztensor* output);
zdnn_status zdnn_matmul_bcast_op(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                                 const zdnn_ztensor* input_c, zdnn_matmul_bcast_ops op_type,
                                 zdnn_ztensor* output);
zdnn_status zdnn_matmul_transpose_op(const zdnn_ztensor* input_a, /* since 1.1 */
                                     const zdnn_ztensor* input_b, const zdnn_ztensor* input_c,
                                     bool transpose_a, bool transpose_b, zdnn_matmul_ops op_type,
                                     zdnn_ztensor* output);
zdnn_status zdnn_quantized_matmul_op(const zdnn_ztensor* input_a, /* since 1.1 */
                                     const zdnn_ztensor* input_b, const zdnn_ztensor* input_c,
                                     zdnn_matmul_ops op_type, const int8_t clip_min,
                                     const int8_t clip_max, const bool disable_clipping,
                                     const bool dequantize, const bool pre_computed,
                                     void* work_area, zdnn_ztensor* output);

/* ---- norms and reductions ---- */

zdnn_status zdnn_batchnorm(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b,
                           const zdnn_ztensor* input_c, zdnn_ztensor* output);
zdnn_status zdnn_norm(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b, /* since 1.1 */
                      zdnn_ztensor* output);
zdnn_status zdnn_moments(const zdnn_ztensor* input, /* since 1.1 */
                         zdnn_moments_bessel bessel_correction_type, zdnn_ztensor* output_a,
                         zdnn_ztensor* output_b);
zdnn_status zdnn_layernorm(const zdnn_ztensor* input_a, const zdnn_ztensor* input_b, /* 1.1 */
                           const zdnn_ztensor* input_c, const float beta_value,
                           const float gamma_value, const float epsilon_value,
                           zdnn_ztensor* output);
zdnn_status zdnn_meanreduce2d(const zdnn_ztensor* input, zdnn_ztensor* output);
zdnn_status zdnn_reduce(const zdnn_ztensor* input, void* save_area, /* since 1.1 */
                        zdnn_reduce_ops op_type, zdnn_ztensor* output);

/* ---- pooling and convolution ---- */

zdnn_status zdnn_avgpool2d(const zdnn_ztensor* input, zdnn_pool_padding padding_type,
                           uint32_t kernel_height, uint32_t kernel_width, uint32_t stride_height,
                           uint32_t stride_width, zdnn_ztensor* output);
zdnn_status zdnn_maxpool2d(const zdnn_ztensor* input, zdnn_pool_padding padding_type,
                           uint32_t kernel_height, uint32_t kernel_width, uint32_t stride_height,
                           uint32_t stride_width, zdnn_ztensor* output);
zdnn_status zdnn_conv2d(const zdnn_ztensor* input, const zdnn_ztensor* kernel,
                        const zdnn_ztensor* bias, zdnn_pool_padding padding_type,
                        uint32_t stride_height, uint32_t stride_width, zdnn_conv2d_act act_func,
                        const void* clipping_value, zdnn_ztensor* output);

#ifdef __cplusplus
}
#endif
#endif
