#include "tests/driver/shrink.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace syncopate::driver {
namespace {

using experiments::LimitsConfig;
using experiments::RequestConfig;
using Requests = std::vector<RequestConfig>;

class Shrinker {
 public:
  Shrinker(Case failing, const Fails& fails) : best_(std::move(failing)), fails_(fails) {}

  Case run() {
    do {
      changed_ = false;
      drop_requests();
      for (std::size_t i = 0; i < requests(best_).size(); ++i) simplify_request(i);
      simplify_options();
      shorten_requests();
      simplify_limits();
    } while (changed_);
    return best_;
  }

 private:
  static Requests& requests(Case& c) { return std::get<Requests>(c.config.requests); }

  bool keep_if_it_fails(Case candidate) {
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return changed_ = true;
  }

  /// Sets what `member` of the case gives to `value`.
  template <class Member, class T>
  bool set(const Member& member, const T& value) {
    if (member(best_) == value) return false;
    Case candidate = best_;
    member(candidate) = value;
    return keep_if_it_fails(std::move(candidate));
  }

  /// The least number that can be reached by halving the distance to `least`.
  template <class Member, class T>
  void lower(const Member& member, T least) {
    set(member, least);
    while (member(best_) > least) {
      const T value = static_cast<T>(member(best_) - std::max<T>((member(best_) - least) / 2, 1));
      if (!set(member, value)) break;
    }
    if (member(best_) > least) set(member, static_cast<T>(member(best_) - 1));
  }

  void drop_requests() {
    for (std::size_t part = std::max<std::size_t>(requests(best_).size() / 2, 1); part > 0;
         part /= 2) {
      for (std::size_t begin = 0; begin < requests(best_).size();) {
        const std::size_t count = std::min(part, requests(best_).size() - begin);
        if (count == requests(best_).size()) break;
        Case candidate = best_;
        const auto first = requests(candidate).begin() + static_cast<std::ptrdiff_t>(begin);
        requests(candidate).erase(first, first + static_cast<std::ptrdiff_t>(count));
        if (!keep_if_it_fails(std::move(candidate))) begin += count;
      }
    }
  }

  void simplify_request(std::size_t i) {
    const auto reset = [&](auto RequestConfig::* member) {
      set([&](Case& c) -> auto& { return requests(c)[i].*member; }, RequestConfig().*member);
    };
    reset(&RequestConfig::id);
    reset(&RequestConfig::sampling);
    reset(&RequestConfig::eos);
    reset(&RequestConfig::stop);
    reset(&RequestConfig::priority);
    reset(&RequestConfig::arrival_ms);
    reset(&RequestConfig::cancel_ms);
    reset(&RequestConfig::cancel_tokens);
  }

  void shorten_requests() {
    for (std::size_t i = 0; i < requests(best_).size(); ++i) {
      const auto prompt = [i](Case& c) -> auto& { return *requests(c)[i].prompt; };
      while (prompt(best_).size() > 1) {
        Case candidate = best_;
        prompt(candidate).resize((prompt(best_).size() + 1) / 2);
        if (!keep_if_it_fails(std::move(candidate))) break;
      }
      while (prompt(best_).size() > 1) {
        Case candidate = best_;
        prompt(candidate).pop_back();
        if (!keep_if_it_fails(std::move(candidate))) break;
      }
      set(prompt, std::vector<std::int32_t>(prompt(best_).size(), 0));
      if (requests(best_)[i].max_new_tokens > 1) {
        lower([i](Case& c) -> auto& { return requests(c)[i].max_new_tokens; }, std::int64_t{1});
      }
    }
  }

  void simplify_options() {
    using experiments::BatchingConfig;
    set([](Case& c) -> auto& { return c.config.host.extra_us; }, 0.0);
    set([](Case& c) -> auto& { return c.config.scheduler.chunk_tokens; }, 0U);
    set([](Case& c) -> auto& { return c.config.scheduler.policy; },
        experiments::TokenPolicy::kDecodeFirst);
    set([](Case& c) -> auto& { return c.config.strategy.graphs; }, false);
    set([](Case& c) -> auto& { return c.synchronous.graphs; }, false);
    set([](Case& c) -> auto& { return c.synchronous.kind; }, experiments::StrategyKind::kOrdered);
    lower([](Case& c) -> auto& { return *c.config.strategy.slots; }, 2U);
    set([](Case& c) -> auto& { return c.config.runtime.chaos; }, false);
    set([](Case& c) -> auto& { return c.listens; }, false);
  }

  void simplify_limits() {
    const auto limit = [](std::uint32_t LimitsConfig::* member) {
      return [member](Case& c) -> auto& { return c.config.limits.*member; };
    };
    lower(limit(&LimitsConfig::rows), 1U);
    lower(limit(&LimitsConfig::tokens), best_.config.limits.rows);
    lower(limit(&LimitsConfig::page_tokens), 1U);
    lower(limit(&LimitsConfig::pages), 1U);
  }

  Case best_;
  const Fails& fails_;
  bool changed_ = false;
};

}  // namespace

Case shrink(Case failing, const Fails& fails) { return Shrinker(std::move(failing), fails).run(); }

}  // namespace syncopate::driver
