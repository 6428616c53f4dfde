#include "backend/ulysses/cuda/cudnn_plan.h"

// The only source that includes the frontend: it takes a while to compile.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/runtime/error.h"
#include "backend/ulysses/error.h"

namespace syncopate::ulysses::cuda {
namespace {

namespace fe = cudnn_frontend;

enum Uid : std::int64_t { kQ = 1, kK, kV, kOutput };

cudnnHandle_t native(const CudnnHandle& handle) {
  return static_cast<cudnnHandle_t>(handle.native());
}

/// cuDNN counts dimensions as [batch, heads, tokens, dim], however they lie in memory.
std::vector<std::int64_t> dims(const CudnnShape& shape, std::int64_t heads) {
  return {shape.batch, heads, shape.tokens, shape.head_dim};
}
std::vector<std::int64_t> strides(const CudnnShape& shape, std::int64_t band_heads) {
  const std::int64_t token = band_heads * shape.head_dim;
  return {token * shape.tokens, shape.head_dim, token, 1};
}

class Plan final : public CudnnPlan {
 public:
  Plan(const CudnnHandle& handle, const CudnnShape& shape) : handle_(handle) {
    const fe::DataType_t type =
        shape.type == ElementType::kFp16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
    graph_.set_io_data_type(type)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto input = [&](const char* name, Uid uid, std::uint32_t heads, std::uint32_t of_band) {
      return graph_.tensor(fe::graph::Tensor_attributes()
                               .set_name(name)
                               .set_uid(uid)
                               .set_dim(dims(shape, heads))
                               .set_stride(strides(shape, of_band)));
    };
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(false)
                       .set_attn_scale(1.0F / std::sqrt(static_cast<float>(shape.head_dim)));
    if (shape.causal) {
      options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
          .set_diagonal_band_right_bound(0);
    }
    auto [output, unused] =
        graph_.sdpa(input("q", kQ, shape.query_heads, shape.band_query_heads),
                    input("k", kK, shape.kv_heads, shape.band_kv_heads),
                    input("v", kV, shape.kv_heads, shape.band_kv_heads), options);
    output->set_output(true)
        .set_uid(kOutput)
        .set_dim(dims(shape, shape.query_heads))
        .set_stride(strides(shape, shape.band_query_heads));
    fe::error_t built = graph_.build(native(handle), {fe::HeurMode_t::A});
    if (built.is_bad()) {
      throw UlyssesError(Fault::kUnsupported,
                         "cuDNN has no attention for " + std::to_string(shape.query_heads) + "/" +
                             std::to_string(shape.kv_heads) + " heads of " +
                             std::to_string(shape.head_dim) + " elements over " +
                             std::to_string(shape.tokens) + " tokens: " + built.get_message());
    }
    scratch_bytes_ = static_cast<std::uint64_t>(graph_.get_workspace_size());
    // Filled once: later calls only change the values.
    pointers_ = {{kQ, nullptr}, {kK, nullptr}, {kV, nullptr}, {kOutput, nullptr}};
  }

  std::uint64_t scratch_bytes() const override { return scratch_bytes_; }

  void enqueue(const DeviceTensors& tensors, std::byte* scratch, cudaStream_t stream) override {
    const auto device = [](const std::byte* data) {
      return const_cast<void*>(static_cast<const void*>(data));
    };
    pointers_[kQ] = device(tensors.q);
    pointers_[kK] = device(tensors.k);
    pointers_[kV] = device(tensors.v);
    pointers_[kOutput] = tensors.output;
    if (cudnnSetStream(native(handle_), stream) != CUDNN_STATUS_SUCCESS) {
      throw runtime::OperationError("attention", "cuDNN does not take the stream");
    }
    fe::error_t status = graph_.execute(native(handle_), pointers_, scratch);
    if (status.is_bad()) throw runtime::OperationError("attention", status.get_message());
  }

 private:
  const CudnnHandle& handle_;
  fe::graph::Graph graph_;
  std::uint64_t scratch_bytes_ = 0;
  std::unordered_map<std::int64_t, void*> pointers_;
};

}  // namespace

CudnnHandle::CudnnHandle() {
  cudnnHandle_t handle = nullptr;
  const cudnnStatus_t status = cudnnCreate(&handle);
  if (status != CUDNN_STATUS_SUCCESS) {
    throw runtime::UnavailableError(std::string("cuDNN: ") + cudnnGetErrorString(status));
  }
  handle_ = handle;
}

CudnnHandle::~CudnnHandle() { cudnnDestroy(static_cast<cudnnHandle_t>(handle_)); }

std::unique_ptr<CudnnPlan> make_cudnn_plan(const CudnnHandle& handle, const CudnnShape& shape) {
  return std::make_unique<Plan>(handle, shape);
}

}  // namespace syncopate::ulysses::cuda
