#include "analysis/trace_events.h"

#include "analysis/json_text.h"

namespace syncopate::analysis {

void TraceEvents::begin(std::string_view head) { put("{{\n{},\n\"traceEvents\": [", head); }

void TraceEvents::end() {
  put("\n]}}\n");
  file_.write({buffer_.data(), buffer_.size()});
  file_.close();
}

void TraceEvents::process(std::int64_t pid, std::string_view name, std::string_view label,
                          std::int64_t sort_index) {
  const auto metadata = [&](std::string_view what, std::string_view key, const auto& value) {
    next();
    put("{{\"name\": \"process_{}\", \"ph\": \"M\", \"ts\": 0.000, \"pid\": {}, \"tid\": 0, "
        "\"args\": {{\"{}\": {}}}}}",
        what, pid, key, value);
  };
  metadata("name", "name", json_text(name));
  metadata("labels", "labels", json_text(label));
  metadata("sort_index", "sort_index", sort_index);
}

void TraceEvents::thread(TraceRow row, std::string_view name) {
  next();
  put("{{\"name\": \"thread_name\", \"ph\": \"M\", \"ts\": 0.000, \"pid\": {}, \"tid\": {}, "
      "\"args\": {{\"name\": {}}}}}",
      row.process, row.thread, json_text(name));
  next();
  put("{{\"name\": \"thread_sort_index\", \"ph\": \"M\", \"ts\": 0.000, \"pid\": {}, \"tid\": {}, "
      "\"args\": {{\"sort_index\": {}}}}}",
      row.process, row.thread, row.thread);
}

const std::string& TraceEvents::quoted(runtime::Name name) {
  const auto [entry, added] = names_.try_emplace(name);
  if (added) entry->second = json_text(name);
  return entry->second;
}

void TraceEvents::next() {
  if (buffer_.size() > kFlushBytes) {
    file_.write({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }
  put("{}\n", first_ ? "" : ",");
  first_ = false;
}

// From whole nanoseconds: no rounding, whatever the length of the run.
void TraceEvents::put_time(runtime::Nanos time) { put("{}.{:03}", time / 1000, time % 1000); }

void TraceEvents::open_slice(std::string_view category, std::string_view name, TraceRow row,
                             const Interval& time) {
  next();
  put("{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": {}, \"pid\": {}, \"tid\": {}, \"ts\": ",
      category, name, row.process, row.thread);
  put_time(time.begin);
  put(", \"dur\": ");
  put_time(time.end - time.begin);
  put(", \"args\": {{");
}

void TraceEvents::flow(char phase, std::string_view binding, std::uint64_t id, TraceRow row,
                       runtime::Nanos at) {
  next();
  put("{{\"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": ", phase, id, row.process,
      row.thread);
  put_time(at);
  put(", \"cat\": \"ac2g\", \"name\": \"ac2g\"{}}}", binding);
}

}  // namespace syncopate::analysis
