// Single operators in one line each.
#pragma once

#include "indexing_support.h"

namespace ascend_test::indexing {

/// A description with its buffer: in device memory, a constant of the host, or left out.
class Port {
 public:
  /// Device memory.
  template <class Value>
  Port(aclDataType type, const std::vector<std::int64_t>& shape, const Tensor<Value>& tensor)
      : Port(type, shape, tensor.address(), tensor.values().size() * sizeof(Value)) {}
  Port(aclDataType type, const std::vector<std::int64_t>& shape, void* data, std::size_t bytes,
       aclFormat format = ACL_FORMAT_ND)
      : description_(
            aclCreateTensorDesc(type, static_cast<int>(shape.size()), shape.data(), format)),
        buffer_(aclCreateDataBuffer(data, bytes)) {}
  /// Left out.
  Port() : Port(ACL_DT_UNDEFINED, {}, nullptr, 0, ACL_FORMAT_UNDEFINED) {}
  ~Port() {
    aclDestroyTensorDesc(description_);
    aclDestroyDataBuffer(buffer_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  aclTensorDesc* description() const { return description_; }
  aclDataBuffer* buffer() const { return buffer_; }

 private:
  aclTensorDesc* description_;
  aclDataBuffer* buffer_;
};

/// Of host memory, by aclSetTensorConst.
template <class Value>
class Constant : public Port {
 public:
  Constant(aclDataType type, const std::vector<std::int64_t>& shape, std::vector<Value> values)
      : Port(type, shape, nullptr, 0) {
    EXPECT_EQ(aclSetTensorConst(description(), values.data(), values.size() * sizeof(Value)),
              ACL_SUCCESS);
  }
};

class Attributes {
 public:
  Attributes() : attributes_(aclopCreateAttr()) {}
  ~Attributes() { aclopDestroyAttr(attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  aclopAttr* get() const { return attributes_; }

 private:
  aclopAttr* attributes_;
};

struct Ports {
  std::vector<aclTensorDesc*> descriptions;
  std::vector<aclDataBuffer*> buffers;
  Ports(std::initializer_list<const Port*> ports) {
    for (const Port* const port : ports) {
      descriptions.push_back(port->description());
      buffers.push_back(port->buffer());
    }
  }
  int count() const { return static_cast<int>(buffers.size()); }
};

/// Compiled, executed and waited for. The first code that is not 0.
inline aclError single_op(const char* type, Ports inputs, Ports outputs,
                          aclopAttr* attributes = nullptr) {
  const aclError code = aclopCompileAndExecuteV2(
      type, inputs.count(), inputs.descriptions.data(), inputs.buffers.data(), outputs.count(),
      outputs.descriptions.data(), outputs.buffers.data(), attributes, ACL_ENGINE_SYS,
      ACL_COMPILE_SYS, nullptr, nullptr);
  const aclError late = aclrtSynchronizeStream(nullptr);
  return code != ACL_SUCCESS ? code : late;
}

}  // namespace ascend_test::indexing
