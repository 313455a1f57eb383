// Scalars, arrays and lists.
#include "ascend/call.h"
#include "ascend/include/acl/acl_tensor.h"
#include "ascend/numbers/numbers.h"
#include "ascend/tensors/objects.h"

namespace ascend_twin {
namespace {

template <class Array, class Value>
Array* make_array(const char* function, Handles<Array>& handles, const Value* values,
                  uint64_t size) {
  Array* handle = nullptr;
  call(function, Need::kNothing, [&]() -> Status {
    if (values == nullptr && size != 0)
      return refuse(ACLNN_ERR_PARAM_NULLPTR, "an array without values");
    auto made = std::make_shared<Array>();
    made->values.assign(values, values + size);
    handle = handles.add(std::move(made));
    return ACL_SUCCESS;
  });
  return handle;
}

template <class Object>
aclnnStatus destroy(const char* function, Handles<Object>& handles, const void* handle) {
  return call(function, Need::kNothing, [&]() -> Status {
    if (handle == nullptr || handles.remove(handle) != nullptr) return ACL_SUCCESS;
    return object(ACLNN_ERR_PARAM_INVALID, "the object was destroyed before, or is none");
  });
}

template <class Object, class Count>
aclnnStatus count_values(const char* function, Handles<Object>& handles, const void* handle,
                         uint64_t* size, Count count) {
  return call(function, Need::kNothing, [&]() -> Status {
    if (handle == nullptr || size == nullptr)
      return refuse(ACLNN_ERR_PARAM_NULLPTR, "the object or the size's pointer is null");
    const auto found = handles.find(handle);
    if (found == nullptr) return refuse(ACLNN_ERR_PARAM_INVALID, "the object is destroyed or none");
    *size = count(*found);
    return ACL_SUCCESS;
  });
}
constexpr auto kValues = [](const auto& array) { return array.values.size(); };
constexpr auto kMembers = [](const auto& list) { return list.members.size(); };

template <class List, class Member>
List* make_list(const char* function, Handles<List>& lists, Handles<Member>& handles,
                const Member* const* members, uint64_t size) {
  List* handle = nullptr;
  call(function, Need::kNothing, [&]() -> Status {
    if (members == nullptr && size != 0)
      return refuse(ACLNN_ERR_PARAM_NULLPTR, "a list without members");
    auto made = std::make_shared<List>();
    for (uint64_t i = 0; i < size; ++i) {
      std::shared_ptr<Member> member = handles.find(members[i]);
      if (member == nullptr)
        return refuse(ACLNN_ERR_PARAM_NULLPTR,
                      "member " + std::to_string(i) + " is no live descriptor");
      if (member->in_list) {
        ASCEND_TWIN_TRY(
            object(ACLNN_ERR_PARAM_INVALID, "member " + std::to_string(i) + " is in a list twice"));
      }
      made->members.push_back(std::move(member));
    }
    for (const auto& member : made->members) member->in_list = true;
    handle = lists.add(std::move(made));
    return ACL_SUCCESS;
  });
  return handle;
}

template <class List, class Member>
aclnnStatus destroy_list(const char* function, Handles<List>& lists, Handles<Member>& handles,
                         const void* list) {
  return call(function, Need::kNothing, [&]() -> Status {
    if (list == nullptr) return ACL_SUCCESS;
    const auto removed = lists.remove(list);
    if (removed == nullptr)
      return object(ACLNN_ERR_PARAM_INVALID, "the list was destroyed before, or is none");
    Status code = ACL_SUCCESS;
    for (const auto& member : removed->members) {
      if (handles.remove(member.get()) == nullptr)
        code = object(ACLNN_ERR_PARAM_INVALID, "a list's member was destroyed before its list");
    }
    return code;
  });
}

}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  aclScalar* handle = nullptr;
  call("aclCreateScalar", Need::kNothing, [&]() -> Status {
    if (value == nullptr) return refuse(ACLNN_ERR_PARAM_NULLPTR, "a scalar without a value");
    if (bits_of(dataType) < 8)
      return refuse(ACLNN_ERR_PARAM_INVALID, "no scalar of type " + std::to_string(dataType));
    auto made = std::make_shared<aclScalar>();
    made->type = dataType;
    made->real = decode(dataType, static_cast<const std::byte*>(value), 0);
    made->integer = decode_integer(dataType, static_cast<const std::byte*>(value), 0);
    handle = descriptors().scalars.add(std::move(made));
    return ACL_SUCCESS;
  });
  return handle;
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return call("aclDestroyScalar", Need::kNothing, [&]() -> Status {
    if (scalar == nullptr) return ACL_SUCCESS;
    const auto found = descriptors().scalars.remove(scalar);
    if (found == nullptr)
      return object(ACLNN_ERR_PARAM_INVALID, "the scalar was destroyed before, or is none");
    if (found->in_list)
      return object(ACLNN_ERR_PARAM_INVALID, "a list owns the scalar, and destroys it again");
    return ACL_SUCCESS;
  });
}

aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t size) {
  return make_array("aclCreateIntArray", descriptors().int_arrays, values, size);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return destroy("aclDestroyIntArray", descriptors().int_arrays, array);
}
aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return count_values("aclGetIntArraySize", descriptors().int_arrays, array, size, kValues);
}

aclFloatArray* aclCreateFloatArray(const float* values, uint64_t size) {
  return make_array("aclCreateFloatArray", descriptors().float_arrays, values, size);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy("aclDestroyFloatArray", descriptors().float_arrays, array);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return count_values("aclGetFloatArraySize", descriptors().float_arrays, array, size, kValues);
}

aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t size) {
  return make_array("aclCreateBoolArray", descriptors().bool_arrays, values, size);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return destroy("aclDestroyBoolArray", descriptors().bool_arrays, array);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return count_values("aclGetBoolArraySize", descriptors().bool_arrays, array, size, kValues);
}

aclTensorList* aclCreateTensorList(const aclTensor* const* members, uint64_t size) {
  return make_list("aclCreateTensorList", descriptors().tensor_lists, descriptors().tensors,
                   members, size);
}
aclnnStatus aclDestroyTensorList(const aclTensorList* list) {
  return destroy_list("aclDestroyTensorList", descriptors().tensor_lists, descriptors().tensors,
                      list);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* list, uint64_t* size) {
  return count_values("aclGetTensorListSize", descriptors().tensor_lists, list, size, kMembers);
}

aclScalarList* aclCreateScalarList(const aclScalar* const* members, uint64_t size) {
  return make_list("aclCreateScalarList", descriptors().scalar_lists, descriptors().scalars,
                   members, size);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* list) {
  return destroy_list("aclDestroyScalarList", descriptors().scalar_lists, descriptors().scalars,
                      list);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* list, uint64_t* size) {
  return count_values("aclGetScalarListSize", descriptors().scalar_lists, list, size, kMembers);
}
