// timeline.json: a timeline as a file, for figures and for checks of runs that are over.
//
// One JSON object. Lists are columnar: an object of equally long arrays, one for each field, so
// that a reader takes what it needs.
//
//   format, version       "syncopate-timeline", 1
//   detail                "times" or "all"
//   hosts, end            number of hosts; the run's end in ns
//   operation_kinds, call_types, node_types, stream_kinds, memories
//                         names of the enumerations' values, in order; columns hold their indices
//   names                 the texts that name columns (name, site) index
//   streams               label, kind, device
//   buffers               label, memory, device, bytes
//   graphs                a list of {label, nodes: {name, type, kind, lane, flag, value, after}},
//                         and, where there are any, cycles: {node, cycle}
//   operations            name, kind, kind_in_graph, host, node, stream, step, graph, first_access,
//                         access_count, bytes, issue_begin, issue_end, start, end
//   calls                 type, implicit, host, operation, site, at_stream, at_sequence,
//                         target_stream, target_sequence, event, flag, value
//   accesses              buffer, begin, end, write
//   strides               access, pitch, width: of those accesses, by index, that are rows with
//                         gaps; only where there are any
//
// Times are ns, unknown ones and 'none' of an id are -1, booleans 0 or 1.
#pragma once

#include <filesystem>

#include "backend/runtime/timeline.h"

namespace syncopate::analysis {

/// Writes `timeline` to `file`, replacing it once all is written. Needs little memory beyond the
/// timeline itself. Throws FileError.
void write_timeline(const runtime::Timeline& timeline, const std::filesystem::path& file);

/// Reads what write_timeline wrote; all fields come back exactly. Throws FileError, which names the
/// file, the place and what is wrong there: text that is not JSON, a missing or misshapen column, a
/// value out of range, an index that points nowhere.
runtime::Timeline read_timeline(const std::filesystem::path& file);

}  // namespace syncopate::analysis
