// The graph interface of cuDNN: a description is a set of attributes. What was set can be read back; for each graph
// there is one engine, which needs no workspace and has no notes.
#include <cudnn.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

namespace {

struct Attribute {
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count;
  Attribute* next;

  char* values() { return reinterpret_cast<char*>(this + 1); }
};

struct Description {
  cudnnBackendDescriptorType_t type;
  Attribute* attributes;
};

size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_CHAR:
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_FRACTION:
      return sizeof(cudnnFraction_t);
    default:  // float, int32_t and the enumerations
      return 4;
  }
}

Description* of(cudnnBackendDescriptor_t descriptor) {
  return static_cast<Description*>(descriptor);
}

void free_attributes(Description* description) {
  for (Attribute* attribute = description->attributes; attribute;) {
    Attribute* next = attribute->next;
    free(attribute);
    attribute = next;
  }
}

// How many elements an attribute that nobody set has, all zero: one engine for each graph, its number and its
// workspace.
int64_t own_count(cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    case CUDNN_ATTR_ENGINECFG_ENGINE:
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  auto* description = static_cast<Description*>(calloc(1, sizeof(Description)));
  *descriptor = description;
  if (!description) return CUDNN_STATUS_ALLOC_FAILED;
  description->type = type;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  if (descriptor) free_attributes(of(descriptor));
  free(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  if (!descriptor || count < 0 || (count && !values)) return CUDNN_STATUS_BAD_PARAM;
  const size_t bytes = size_t(count) * bytes_of(type);
  auto* attribute = static_cast<Attribute*>(malloc(sizeof(Attribute) + bytes));
  if (!attribute) return CUDNN_STATUS_ALLOC_FAILED;
  *attribute = {name, type, count, of(descriptor)->attributes};
  if (bytes) memcpy(attribute->values(), values, bytes);
  of(descriptor)->attributes = attribute;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count, void* values) {
  if (!descriptor) return CUDNN_STATUS_BAD_PARAM;
  for (Attribute* attribute = of(descriptor)->attributes; attribute; attribute = attribute->next) {
    if (attribute->name != name || attribute->type != type) continue;
    if (count) *count = attribute->count;
    const int64_t given = wanted < attribute->count ? wanted : attribute->count;
    if (values && type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
      memcpy(values, attribute->values(), size_t(given) * bytes_of(type));
    return CUDNN_STATUS_SUCCESS;
  }
  const int64_t own = own_count(name);
  if (count) *count = own;
  // Descriptions are given to be filled in: an engine has nothing to fill in.
  if (values && type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    memset(values, 0, size_t(wanted < own ? wanted : own) * bytes_of(type));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
