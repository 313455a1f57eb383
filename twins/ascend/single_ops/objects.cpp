// Descriptions of tensors, data buffers and attributes.
#include "ascend/single_ops/objects.h"

#include "ascend/call.h"

namespace ascend_twin {

SingleOpObjects& single_op_objects() {
  static auto* all = new SingleOpObjects;  // no destructor runs at exit
  return *all;
}

namespace {

/// Runs the change of a live object.
template <class Object, class Change>
Status changed(const char* function, Handles<Object>& handles, const Object* handle,
               Change change) {
  return call(function, Need::kNothing, [&]() -> Status {
    const std::shared_ptr<Object> object = handles.find(handle);
    if (object == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the object is null or was destroyed");
    return change(*object);
  });
}

template <class Object>
Status destroyed(const char* function, Handles<Object>& handles, const Object* handle) {
  return call(function, Need::kNothing, [&]() -> Status {
    if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the object is null");
    if (handles.remove(handle) == nullptr) {
      ASCEND_TWIN_TRY(object(ACL_ERROR_INVALID_PARAM, "the object was destroyed before"));
      return refuse(ACL_ERROR_INVALID_PARAM, "the object was destroyed before");
    }
    return ACL_SUCCESS;
  });
}

Status set_shape(int count, const int64_t* dims, Shape* shape) {
  constexpr int kMost = 128;
  if (count < 0 || count > kMost || (dims == nullptr && count != 0))
    return refuse(ACL_ERROR_INVALID_PARAM, std::to_string(count) + " dimensions, or none given");
  for (int i = 0; i < count; ++i) {
    if (dims[i] < 0)
      return refuse(ACL_ERROR_INVALID_PARAM, "a dimension of " + std::to_string(dims[i]));
  }
  shape->assign(dims, dims + count);
  return ACL_SUCCESS;
}

template <class Value>
Status set_attribute(const char* function, aclopAttr* attr, const char* name, Value value) {
  return changed(function, single_op_objects().attributes, attr, [&](aclopAttr& found) -> Status {
    if (name == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the attribute's name is null");
    found.values[name] = std::move(value);
    return ACL_SUCCESS;
  });
}

/// Null only without values.
template <class To, class From>
Status set_list(const char* function, aclopAttr* attr, const char* name, int count,
                const From* values) {
  if (count < 0 || (values == nullptr && count != 0)) {
    return call(function, Need::kNothing, [&] {
      return refuse(ACL_ERROR_INVALID_PARAM, "no list of " + std::to_string(count) + " values");
    });
  }
  return set_attribute(function, attr, name, std::vector<To>(values, values + count));
}

}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                   aclFormat format) {
  aclTensorDesc* handle = nullptr;
  call("aclCreateTensorDesc", Need::kNothing, [&]() -> Status {
    auto made = std::make_shared<aclTensorDesc>();
    ASCEND_TWIN_TRY(set_shape(numDims, dims, &made->shape));
    made->type = dataType;
    made->format = format;
    handle = single_op_objects().descriptions.add(std::move(made));
    return ACL_SUCCESS;
  });
  return handle;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  destroyed("aclDestroyTensorDesc", single_op_objects().descriptions, desc);
}

aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  return changed("aclSetTensorConst", single_op_objects().descriptions, desc,
                 [&](aclTensorDesc& found) -> Status {
                   if (dataBuffer == nullptr && length != 0)
                     return refuse(ACL_ERROR_INVALID_PARAM, "the constant is null");
                   const auto* const bytes = static_cast<const std::byte*>(dataBuffer);
                   found.is_constant = true;
                   found.constant.assign(bytes, bytes + length);
                   return ACL_SUCCESS;
                 });
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
  return changed(
      "aclSetTensorPlaceMent", single_op_objects().descriptions, desc,
      [&](aclTensorDesc& found) -> Status {
        if (memType < ACL_MEMTYPE_DEVICE || memType > ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT) {
          return refuse(ACL_ERROR_INVALID_PARAM,
                        "placement " + std::to_string(static_cast<int>(memType)));
        }
        found.placement = memType;
        return ACL_SUCCESS;
      });
}

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  return changed("aclSetTensorFormat", single_op_objects().descriptions, desc,
                 [&](aclTensorDesc& found) -> Status {
                   found.format = format;
                   return ACL_SUCCESS;
                 });
}

aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return changed(
      "aclSetTensorShape", single_op_objects().descriptions, desc,
      [&](aclTensorDesc& found) -> Status { return set_shape(numDims, dims, &found.shape); });
}

// The origin's format and shape say what a private layout stands for: the twin has none here.
aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat /*format*/) {
  return changed("aclSetTensorOriginFormat", single_op_objects().descriptions, desc,
                 [](aclTensorDesc&) -> Status { return ACL_SUCCESS; });
}

aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return changed("aclSetTensorOriginShape", single_op_objects().descriptions, desc,
                 [&](aclTensorDesc&) -> Status {
                   Shape shape;
                   return set_shape(numDims, dims, &shape);
                 });
}

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* handle = nullptr;
  call("aclCreateDataBuffer", Need::kNothing, [&]() -> Status {
    auto made = std::make_shared<aclDataBuffer>();
    made->data = data;
    made->bytes = size;
    handle = single_op_objects().buffers.add(std::move(made));
    return ACL_SUCCESS;
  });
  return handle;
}

aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer) {
  return destroyed("aclDestroyDataBuffer", single_op_objects().buffers, dataBuffer);
}

aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size) {
  return changed("aclUpdateDataBuffer", single_op_objects().buffers, dataBuffer,
                 [&](aclDataBuffer& found) -> Status {
                   found.data = data;
                   found.bytes = size;
                   return ACL_SUCCESS;
                 });
}

aclopAttr* aclopCreateAttr(void) {
  aclopAttr* handle = nullptr;
  call("aclopCreateAttr", Need::kNothing, [&]() -> Status {
    handle = single_op_objects().attributes.add(std::make_shared<aclopAttr>());
    return ACL_SUCCESS;
  });
  return handle;
}

void aclopDestroyAttr(const aclopAttr* attr) {
  destroyed("aclopDestroyAttr", single_op_objects().attributes, attr);
}

aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
  return set_attribute("aclopSetAttrBool", attr, attrName, attrValue != 0);
}
aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
  return set_attribute("aclopSetAttrInt", attr, attrName, attrValue);
}
aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue) {
  return set_attribute("aclopSetAttrFloat", attr, attrName, static_cast<double>(attrValue));
}
aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
  if (attrValue == nullptr) {
    return call("aclopSetAttrString", Need::kNothing,
                [] { return refuse(ACL_ERROR_INVALID_PARAM, "the attribute's value is null"); });
  }
  return set_attribute("aclopSetAttrString", attr, attrName, std::string(attrValue));
}
aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue) {
  return set_attribute("aclopSetAttrDataType", attr, attrName,
                       static_cast<std::int64_t>(attrValue));
}
aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues,
                              const uint8_t* values) {
  return set_list<std::int64_t>("aclopSetAttrListBool", attr, attrName, numValues, values);
}
aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues,
                             const int64_t* values) {
  return set_list<std::int64_t>("aclopSetAttrListInt", attr, attrName, numValues, values);
}
aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues,
                               const float* values) {
  return set_list<double>("aclopSetAttrListFloat", attr, attrName, numValues, values);
}

aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues,
                                const char** values) {
  return changed(
      "aclopSetAttrListString", single_op_objects().attributes, attr,
      [&](aclopAttr& found) -> Status {
        if (attrName == nullptr || numValues < 0 || (values == nullptr && numValues != 0))
          return refuse(ACL_ERROR_INVALID_PARAM, "no name, or no list of strings");
        std::vector<std::string> list;
        for (int i = 0; i < numValues; ++i) {
          if (values[i] == nullptr)
            return refuse(ACL_ERROR_INVALID_PARAM, "a string of the list is null");
          list.emplace_back(values[i]);
        }
        found.values[attrName] = std::move(list);
        return ACL_SUCCESS;
      });
}

aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists,
                                 const int* numValues, const int64_t* const values[]) {
  return changed("aclopSetAttrListListInt", single_op_objects().attributes, attr,
                 [&](aclopAttr& found) -> Status {
                   if (attrName == nullptr || numLists < 0 ||
                       ((numValues == nullptr || values == nullptr) && numLists != 0))
                     return refuse(ACL_ERROR_INVALID_PARAM, "no name, or no lists of integers");
                   std::vector<std::vector<std::int64_t>> lists;
                   for (int i = 0; i < numLists; ++i) {
                     if (numValues[i] < 0 || (values[i] == nullptr && numValues[i] != 0))
                       return refuse(ACL_ERROR_INVALID_PARAM, "a list is null");
                     lists.emplace_back(values[i], values[i] + numValues[i]);
                   }
                   found.values[attrName] = std::move(lists);
                   return ACL_SUCCESS;
                 });
}
