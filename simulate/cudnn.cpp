// cuDNN: descriptions that can be read back, the layout of a recurrent network's weights, one algorithm for every
// convolution, and every computation answered as done. The graph interface is in cudnn_graph.cpp.
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"

struct cudnnContext {
  cudaStream_t stream;
};

struct cudnnTensorStruct {
  cudnnDataType_t type;
  int count;
  int sizes[CUDNN_DIM_MAX], strides[CUDNN_DIM_MAX];
};

struct cudnnFilterStruct {
  cudnnDataType_t type;
  cudnnTensorFormat_t format;
  int count;
  int sizes[CUDNN_DIM_MAX];
};

struct cudnnRNNStruct {
  cudnnRNNMode_t cell;
  cudnnRNNBiasMode_t bias;
  cudnnDirectionMode_t direction;
  cudnnRNNInputMode_t input_mode;
  cudnnDataType_t type;
  int input, hidden, projection, layers;
};

struct cudnnConvolutionStruct {};
struct cudnnPoolingStruct {};
struct cudnnActivationStruct {};
struct cudnnSpatialTransformerStruct {};
struct cudnnDropoutStruct {};
struct cudnnRNNDataStruct {};
struct cudnnCTCLossStruct {};

namespace {

template <typename Description>
cudnnStatus_t make(Description** description) {
  *description = static_cast<Description*>(calloc(1, sizeof(Description)));
  return *description ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED;
}

cudnnStatus_t drop(void* description) {
  free(description);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t no_workspace(size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

template <typename Performance, typename Algorithm>
cudnnStatus_t offer(Algorithm algorithm, int wanted, int* found, Performance* results) {
  *found = wanted > 0 ? 1 : 0;
  if (wanted > 0) {
    memset(results, 0, sizeof *results);
    results->algo = algorithm;
    results->determinism = CUDNN_DETERMINISTIC;
  }
  return CUDNN_STATUS_SUCCESS;
}

size_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
}

// A recurrent network's weights: for each layer and direction the matrices of each gate applied to the input, those
// applied to the hidden state, the projection, and then the biases in the same order. Numbers of elements throughout.
struct Weights {
  const cudnnRNNStruct& network;

  int gates() const { return network.cell == CUDNN_LSTM ? 4 : network.cell == CUDNN_GRU ? 3 : 1; }
  int directions() const { return network.direction == CUDNN_BIDIRECTIONAL ? 2 : 1; }
  int state() const { return projects() ? network.projection : network.hidden; }
  bool projects() const { return network.projection && network.projection != network.hidden; }
  int bias_sets() const {
    return network.bias == CUDNN_RNN_NO_BIAS ? 0 : network.bias == CUDNN_RNN_DOUBLE_BIAS ? 2 : 1;
  }
  int columns(int pseudo_layer, int matrix) const {
    if (matrix >= gates()) return state();
    if (pseudo_layer < directions()) return network.input_mode == CUDNN_SKIP_INPUT ? 0 : network.input;
    return state() * directions();
  }
  size_t matrix_elements(int pseudo_layer, int matrix) const {
    return size_t(network.hidden) * size_t(columns(pseudo_layer, matrix));
  }
  size_t projection_elements() const { return projects() ? size_t(network.hidden) * size_t(network.projection) : 0; }
  size_t matrices(int pseudo_layer, int up_to) const {
    size_t elements = 0;
    for (int matrix = 0; matrix < up_to; ++matrix) elements += matrix_elements(pseudo_layer, matrix);
    return elements;
  }
  size_t layer(int pseudo_layer) const { return matrices(pseudo_layer, 2 * gates()) + projection_elements(); }
  size_t biases(int pseudo_layers) const {
    return size_t(pseudo_layers) * size_t(bias_sets()) * size_t(gates()) * size_t(network.hidden);
  }
  size_t layers(int up_to) const {
    size_t elements = 0;
    for (int pseudo_layer = 0; pseudo_layer < up_to; ++pseudo_layer) elements += layer(pseudo_layer);
    return elements;
  }
  int pseudo_layers() const { return network.layers * directions(); }
  size_t all() const { return layers(pseudo_layers()) + biases(pseudo_layers()); }
};

void describe(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rows, int columns) {
  *tensor = {type, 3, {1, rows, columns}, {rows * columns, columns, 1}};
}

}  // namespace

extern "C" {

size_t cudnnGetVersion(void) {
  return CUDNN_VERSION;
}
size_t cudnnGetCudartVersion(void) {
  return CUDART_VERSION;
}
size_t cudnnGetMaxDeviceVersion(void) {
  return 1200;
}
cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUDNN_MAJOR : type == MINOR_VERSION ? CUDNN_MINOR : CUDNN_PATCHLEVEL;
  return CUDNN_STATUS_SUCCESS;
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_NOT_SUPPORTED";
}
void cudnnGetLastErrorString(char* message, size_t size) {
  if (size) *message = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return make(handle);
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return drop(handle);
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

#define DEVICE_AUDIT_DESCRIPTOR(name)                                                  \
  cudnnStatus_t cudnnCreate##name##Descriptor(cudnn##name##Descriptor_t* descriptor) { \
    return make(descriptor);                                                           \
  }                                                                                    \
  cudnnStatus_t cudnnDestroy##name##Descriptor(cudnn##name##Descriptor_t descriptor) { \
    return drop(descriptor);                                                           \
  }
DEVICE_AUDIT_DESCRIPTOR(Tensor)
DEVICE_AUDIT_DESCRIPTOR(Filter)
DEVICE_AUDIT_DESCRIPTOR(Convolution)
DEVICE_AUDIT_DESCRIPTOR(Pooling)
DEVICE_AUDIT_DESCRIPTOR(Activation)
DEVICE_AUDIT_DESCRIPTOR(SpatialTransformer)
DEVICE_AUDIT_DESCRIPTOR(Dropout)
DEVICE_AUDIT_DESCRIPTOR(RNN)
DEVICE_AUDIT_DESCRIPTOR(RNNData)
DEVICE_AUDIT_DESCRIPTOR(CTCLoss)

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int count,
                                         const int sizes[], const int strides[]) {
  if (count < 1 || count > CUDNN_DIM_MAX) return CUDNN_STATUS_NOT_SUPPORTED;
  tensor->type = type;
  tensor->count = count;
  memcpy(tensor->sizes, sizes, size_t(count) * sizeof *sizes);
  memcpy(tensor->strides, strides, size_t(count) * sizeof *strides);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int wanted, cudnnDataType_t* type,
                                         int* count, int sizes[], int strides[]) {
  *type = tensor->type;
  *count = tensor->count;
  const int given = wanted < tensor->count ? wanted : tensor->count;
  memcpy(sizes, tensor->sizes, size_t(given) * sizeof *sizes);
  memcpy(strides, tensor->strides, size_t(given) * sizeof *strides);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int count, const int sizes[]) {
  if (count < 1 || count > CUDNN_DIM_MAX) return CUDNN_STATUS_NOT_SUPPORTED;
  filter->type = type;
  filter->format = format;
  filter->count = count;
  memcpy(filter->sizes, sizes, size_t(count) * sizeof *sizes);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filter, int wanted, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* count, int sizes[]) {
  *type = filter->type;
  *format = filter->format;
  *count = filter->count;
  memcpy(sizes, filter->sizes, size_t(wanted < filter->count ? wanted : filter->count) * sizeof *sizes);
  return CUDNN_STATUS_SUCCESS;
}

// The state of a random number generator, which the program keeps and restores.
cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t, size_t* bytes) {
  *bytes = size_t{1} << 20;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  return no_workspace(bytes);
}
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t, size_t* bytes) {
  return no_workspace(bytes);
}
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t, cudnnBatchNormMode_t,
                                                                   cudnnBatchNormOps_t,
                                                                   const cudnnActivationDescriptor_t,
                                                                   const cudnnTensorDescriptor_t, size_t* bytes) {
  return no_workspace(bytes);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                      const cudnnFilterDescriptor_t, const cudnnConvolutionDescriptor_t,
                                                      const cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t,
                                                      size_t* bytes) {
  return no_workspace(bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t, const cudnnFilterDescriptor_t,
                                                           const cudnnTensorDescriptor_t,
                                                           const cudnnConvolutionDescriptor_t,
                                                           const cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t,
                                                           size_t* bytes) {
  return no_workspace(bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                             const cudnnTensorDescriptor_t,
                                                             const cudnnConvolutionDescriptor_t,
                                                             const cudnnFilterDescriptor_t,
                                                             cudnnConvolutionBwdFilterAlgo_t, size_t* bytes) {
  return no_workspace(bytes);
}
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                     const cudnnFilterDescriptor_t, const cudnnConvolutionDescriptor_t,
                                                     const cudnnTensorDescriptor_t, const int wanted, int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return offer(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t, const cudnnTensorDescriptor_t, const void*,
                                                     const cudnnFilterDescriptor_t, const void*,
                                                     const cudnnConvolutionDescriptor_t, const cudnnTensorDescriptor_t,
                                                     void*, const int wanted, int* found,
                                                     cudnnConvolutionFwdAlgoPerf_t* results, void*, size_t) {
  return offer(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t,
                                                          const cudnnTensorDescriptor_t,
                                                          const cudnnConvolutionDescriptor_t,
                                                          const cudnnTensorDescriptor_t, const int wanted, int* found,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return offer(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t, const cudnnFilterDescriptor_t, const void*,
                                                          const cudnnTensorDescriptor_t, const void*,
                                                          const cudnnConvolutionDescriptor_t,
                                                          const cudnnTensorDescriptor_t, void*, const int wanted,
                                                          int* found, cudnnConvolutionBwdDataAlgoPerf_t* results, void*,
                                                          size_t) {
  return offer(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, wanted, found, results);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                            const cudnnTensorDescriptor_t,
                                                            const cudnnConvolutionDescriptor_t,
                                                            const cudnnFilterDescriptor_t, const int wanted, int* found,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return offer(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, wanted, found, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t, const cudnnTensorDescriptor_t, const void*,
                                                            const cudnnTensorDescriptor_t, const void*,
                                                            const cudnnConvolutionDescriptor_t,
                                                            const cudnnFilterDescriptor_t, void*, const int wanted,
                                                            int* found, cudnnConvolutionBwdFilterAlgoPerf_t* results,
                                                            void*, size_t) {
  return offer(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, wanted, found, results);
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t network, cudnnRNNAlgo_t, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input_mode, cudnnDataType_t type, cudnnDataType_t,
                                       cudnnMathType_t, int32_t input, int32_t hidden, int32_t projection,
                                       int32_t layers, cudnnDropoutDescriptor_t, uint32_t) {
  *network = {cell, bias, direction, input_mode, type, input, hidden, projection, layers};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t,
                                        cudnnRNNDataDescriptor_t, size_t* workspace, size_t* reserve) {
  if (workspace) *workspace = 0;
  if (reserve) *reserve = 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t network, size_t* bytes) {
  *bytes = Weights{*network}.all() * bytes_of(network->type);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t network, int32_t pseudo_layer, size_t,
                                      const void* space, int32_t matrix, cudnnTensorDescriptor_t matrix_tensor,
                                      void** matrix_address, cudnnTensorDescriptor_t bias_tensor, void** bias_address) {
  const Weights weights{*network};
  const auto at = [&](size_t elements) {
    return static_cast<char*>(const_cast<void*>(space)) + elements * bytes_of(network->type);
  };
  const int matrices = 2 * weights.gates();
  const bool is_projection = matrix == matrices;
  if (pseudo_layer < 0 || pseudo_layer >= weights.pseudo_layers() || matrix < 0 || matrix > matrices) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const size_t layer = weights.layers(pseudo_layer);
  const bool has_matrix = is_projection ? weights.projects() : weights.matrix_elements(pseudo_layer, matrix) > 0;
  const bool has_bias =
      !is_projection && (weights.bias_sets() == 2 || (weights.bias_sets() == 1 && matrix < weights.gates()));
  // A caller may want only one of the two.
  if (matrix_address) {
    *matrix_address =
        has_matrix ? at(layer + weights.matrices(pseudo_layer, is_projection ? matrices : matrix)) : nullptr;
  }
  if (matrix_tensor && has_matrix) {
    describe(matrix_tensor, network->type, is_projection ? network->projection : network->hidden,
             is_projection ? network->hidden : weights.columns(pseudo_layer, matrix));
  }
  if (bias_address) {
    *bias_address = has_bias ? at(weights.layers(weights.pseudo_layers()) + weights.biases(pseudo_layer) +
                                  size_t(matrix) * size_t(network->hidden))
                             : nullptr;
  }
  if (bias_tensor && has_bias) describe(bias_tensor, network->type, network->hidden, 1);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetCTCLossWorkspaceSize(cudnnHandle_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                           const int*, const int*, const int*, cudnnCTCLossAlgo_t,
                                           cudnnCTCLossDescriptor_t, size_t* bytes) {
  return no_workspace(bytes);
}
cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t,
                                              const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                              size_t* bytes) {
  return no_workspace(bytes);
}

}  // extern "C"

DEVICE_AUDIT_DONE_ANSWER(CUDNN_STATUS_SUCCESS)
#define DONE DEVICE_AUDIT_DONE
#define REFUSED(name) DEVICE_AUDIT_REFUSED(name, CUDNN_STATUS_NOT_SUPPORTED)
#include "cudnn.def"
