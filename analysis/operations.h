// What several readers of a timeline ask of an operation.
#pragma once

#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// Whether both its times are known: it ran, and the timeline was stamped.
inline bool has_times(const runtime::Operation& op) {
  return op.start != runtime::kUnknownTime && op.end != runtime::kUnknownTime;
}

inline bool is_copy(runtime::OperationKind kind) {
  return kind >= runtime::OperationKind::kCopyH2D && kind <= runtime::OperationKind::kCopyPeer;
}

/// Whether it is on a host's own row.
inline bool is_host_kind(runtime::OperationKind kind) {
  return kind == runtime::OperationKind::kHostSpan || kind == runtime::OperationKind::kHostBlock;
}

}  // namespace syncopate::analysis
