#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <numeric>

#include "experiments/search/search.h"
#include "experiments/units.h"

namespace syncopate::experiments {
namespace {

using runtime::Nanos;

std::string name_of(const Contender& contender) {
  const ulysses::UlyssesOptions& options = contender.variant.options;
  std::string out = to_string(options.strategy);
  if (!contender.variant.schedule.empty()) {
    out += fmt::format(" {}", fmt::join(contender.variant.schedule, "+"));
  }
  return out + fmt::format(" over {}", to_string(options.transport));
}

Nanos attention(const Contender& contender) {
  const auto& bands = contender.figures.attention;
  return std::accumulate(bands.begin(), bands.end(), Nanos{0});
}

std::string line(const Contender& contender) {
  const PassFigures& figures = contender.figures;
  return fmt::format(
      "{:.3f} ms: attention {:.3f}, exposed input {:.3f} and output {:.3f}; host {:.0f} us",
      milliseconds(figures.time), milliseconds(attention(contender)),
      milliseconds(figures.exposed_input), milliseconds(figures.exposed_output),
      microseconds(figures.enqueue));
}

/// How fast each band's attention is, for its heads, beside all heads at once.
std::string efficiencies(const Contender& contender, Nanos whole) {
  const auto& schedule = contender.variant.schedule;
  const double heads = std::accumulate(schedule.begin(), schedule.end(), 0.0);
  std::string out;
  for (std::size_t band = 0; band < schedule.size(); ++band) {
    const double share = schedule[band] / heads;
    fmt::format_to(std::back_inserter(out), "{}{:.0f}", band == 0 ? "" : "+",
                   100 * share * static_cast<double>(whole) /
                       static_cast<double>(contender.figures.attention[band]));
  }
  return out;
}

std::string verdict(const SearchResult& found) {
  if (!found.overlapped) return "  a rank has one head: there is nothing to overlap";
  const PassFigures& with = found.overlapped->figures;
  const PassFigures& without = found.plain.figures;
  const auto exposed = [](const PassFigures& f) { return f.exposed_input + f.exposed_output; };
  return fmt::format("  overlap {}: {:+.3f} ms of exposed communication, {:+.3f} ms of attention",
                     found.overlaps ? "pays" : "does not pay",
                     milliseconds(exposed(with) - exposed(without)),
                     milliseconds(attention(*found.overlapped) - attention(found.plain)));
}

}  // namespace

std::string explain(const SearchResult& found) {
  std::string out =
      fmt::format("{}, the fastest of {} in virtual time on {}\n  {}", name_of(found.best()),
                  found.compared, found.profile, line(found.best()));
  const Nanos whole = attention(found.plain);
  if (const Contender* loser = found.loser()) {
    out += fmt::format("\n  {} {} takes {}", found.overlaps ? "without overlap" : "with overlap",
                       name_of(*loser), line(*loser));
  }
  out += '\n' + verdict(found);
  const bool whole_is_known = found.plain.figures.attention.size() == 1;
  if (found.overlapped && whole_is_known) {
    out +=
        fmt::format("; bands at {} % of its speed in one", efficiencies(*found.overlapped, whole));
  }
  return out;
}

}  // namespace syncopate::experiments
