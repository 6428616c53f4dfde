// The type of weights, activations and KV entries on the device.
#pragma once

#include <cuda_bf16.h>

namespace syncopate::models::llama {

using Bf16 = __nv_bfloat16;

}  // namespace syncopate::models::llama
