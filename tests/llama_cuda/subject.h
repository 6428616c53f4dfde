// The transformer on the device as the driver's subject.
#pragma once

#include "tests/driver/subject.h"

namespace syncopate::models::llama {

/// A tiny transformer in the invariant mode, whose speaker feeds it one token a step in a row of
/// its own. For runtime cuda.
driver::Subject make_device_subject(const experiments::HashModelConfig& drawn,
                                    const experiments::LimitsConfig& limits);

}  // namespace syncopate::models::llama
