#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "analysis/error.h"
#include "analysis/json_text.h"
#include "analysis/timeline_columns.h"
#include "analysis/timeline_io.h"

namespace syncopate::analysis {
namespace {

namespace fs = std::filesystem;
using runtime::Timeline;

/// Formats into a buffer that goes to the file whenever it is full.
class TimelineWriter {
 public:
  TimelineWriter(const Timeline& timeline, const fs::path& file)
      : timeline_(timeline), file_(file), out_(file, std::ios::binary) {}

  void write() {
    check();  // that it could be opened
    collect_names();
    put("{{\"format\":\"{}\",\"version\":{},\n", kTimelineFormat, kTimelineVersion);
    put("\"detail\":\"{}\",\n", timeline_.detail == runtime::Detail::kAll ? "all" : "times");
    put("\"hosts\":{},\n\"end\":{},\n", timeline_.hosts, timeline_.end);
    for_each_enum([this]<class E>() { texts(EnumNames<E>::kKey, EnumNames<E>::kNames); });
    texts("names", names_);
    rows("streams", timeline_.streams);
    rows("buffers", timeline_.buffers);
    put("\"graphs\":[");
    for (std::size_t i = 0; i < timeline_.graphs.size(); ++i) {
      put("{}{{\"label\":{},", i == 0 ? "" : ",\n", json_text(timeline_.graphs[i].label));
      const auto& nodes = timeline_.graphs[i].nodes;
      std::vector<NodeCycle> cycles;
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].cycle == 0) continue;
        cycles.push_back({static_cast<std::uint16_t>(n), nodes[n].cycle});
      }
      if (!cycles.empty()) rows("cycles", cycles);
      rows("nodes", nodes, "}");
    }
    put("],\n");
    rows("operations", timeline_.operations);
    rows("calls", timeline_.calls);
    if (timeline_.activities) {
      texts(EnumNames<runtime::ActivityKind>::kKey, EnumNames<runtime::ActivityKind>::kNames);
      put("\"activities_dropped\":{},\n", timeline_.activities->dropped);
      rows("activities", timeline_.activities->records);
    }
    std::vector<Stride> strides;
    for (std::size_t i = 0; i < timeline_.accesses.size(); ++i) {
      const runtime::Access& access = timeline_.accesses[i];
      if (access.width == 0) continue;
      strides.push_back({static_cast<std::uint32_t>(i), access.pitch, access.width});
    }
    if (!strides.empty()) rows("strides", strides);
    rows("accesses", timeline_.accesses, "}\n");
    flush();
    errno = 0;
    out_.close();
    check();
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
  }
  void flush() {
    errno = 0;
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    check();
    buffer_.clear();
  }
  /// At once, while errno still says why.
  void check() const {
    if (out_) return;
    throw FileError(fmt::format("{}: cannot be written: {}", file_.string(),
                                std::strerror(errno == 0 ? EIO : errno)));
  }

  void name(const char* text) {
    if (index_.try_emplace(text, names_.size()).second) names_.emplace_back(text);
  }
  void collect_names() {
    for (const auto& graph : timeline_.graphs) {
      for (const auto& node : graph.nodes) name(node.name);
    }
    for (const auto& operation : timeline_.operations) name(operation.name);
    for (const auto& call : timeline_.calls) name(call.site);
    if (!timeline_.activities) return;
    for (const auto& activity : timeline_.activities->records) name(activity.name);
  }

  template <class Texts>
  void texts(std::string_view key, const Texts& list) {
    put("\"{}\":[", key);
    for (std::size_t i = 0; i < list.size(); ++i)
      put("{}{}", i == 0 ? "" : ",", json_text(list[i]));
    put("],\n");
  }

  template <class Rows>
  void rows(std::string_view key, const Rows& list, std::string_view after = ",\n") {
    put("\"{}\":{{", key);
    bool first = true;
    Columns<typename Rows::value_type>::for_each([&](std::string_view column, auto field) {
      put("{}\n\"{}\":[", first ? "" : ",", column);
      first = false;
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (i != 0) buffer_.push_back(',');
        value(std::invoke(field, list[i]));
        if (buffer_.size() > kFlushBytes) flush();
      }
      put("]");
    });
    put("}}{}", after);
  }

  void value(const std::string& text) { put("{}", json_text(text)); }
  void value(const char* text) { put("{}", index_.at(text)); }
  void value(bool truth) { buffer_.push_back(truth ? '1' : '0'); }
  void value(const std::vector<std::uint16_t>& list) {
    put("[");
    for (std::size_t i = 0; i < list.size(); ++i) put("{}{}", i == 0 ? "" : ",", list[i]);
    put("]");
  }
  template <class Tag>
  void value(runtime::Handle<Tag> handle) {
    if (handle) {
      put("{}", handle.id);
    } else {
      put("-1");
    }
  }
  template <class Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void value(Number number) {
    if constexpr (std::is_enum_v<Number>) {
      put("{}", static_cast<unsigned>(number));
    } else {
      put("{}", number);
    }
  }

  static constexpr std::size_t kFlushBytes = std::size_t{1} << 16;

  const Timeline& timeline_;
  const fs::path& file_;
  std::ofstream out_;
  fmt::memory_buffer buffer_;
  std::vector<std::string_view> names_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

}  // namespace

void write_timeline(const Timeline& timeline, const fs::path& file) {
  // A run that is stopped while it writes leaves no half file under the name.
  fs::path unfinished = file;
  unfinished += ".unfinished";
  TimelineWriter(timeline, unfinished).write();
  std::error_code error;
  fs::rename(unfinished, file, error);
  if (error) throw FileError(file.string() + ": cannot be written: " + error.message());
}

}  // namespace syncopate::analysis
