#pragma once

// A store in memory that carries out the requests of protocols, with a fault at one of them, and
// jobs that start, save and retain on it.

#include <mdstream/checkpoint/detail/choice.hpp>
#include <mdstream/checkpoint/detail/commit.hpp>
#include <mdstream/checkpoint/detail/file_plan.hpp>
#include <mdstream/checkpoint/detail/protocol.hpp>
#include <mdstream/checkpoint/detail/read_plan.hpp>
#include <mdstream/checkpoint/detail/retention.hpp>
#include <mdstream/checkpoint/detail/start.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace model_run {

namespace mds = mdstream;
using namespace mdstream::detail;
using verb = protocol_request::verb;
using milliseconds = std::chrono::milliseconds;

/// The process ends here.
struct killed {};

enum class fault : std::uint8_t {
  none,
  fails,         // not done, and the store says so
  lost,          // done, but the answer says that it failed
  kills_before,  // the process ends
  kills_after,
};

/// Objects by key. A request that takes several keys may be cut off between them.
class store {
 public:
  std::map<std::string, std::string> objects;
  milliseconds now{};
  std::size_t requests = 0;
  std::size_t fault_at = ~std::size_t{0};  // of all requests, pauses too
  fault kind = fault::none;
  bool conditions = true;

  protocol_answer perform(const protocol_request& request) {
    const bool is_chosen = requests++ == fault_at;
    if (is_chosen && kind == fault::kills_before) throw killed();
    protocol_answer out;
    if (!is_chosen || kind != fault::fails) out = carry_out(request);
    if (is_chosen && kind == fault::kills_after) throw killed();
    if (is_chosen && (kind == fault::fails || kind == fault::lost) && request.what != verb::pause) {
      out = {};
      out.failure = mds::errc::unavailable;
      out.where.what = "HTTP 503";
    }
    return out;
  }

  [[nodiscard]] std::vector<mds::object_info> list(const std::string& prefix) const {
    std::vector<mds::object_info> out;
    for (auto at = objects.lower_bound(prefix);
         at != objects.end() && at->first.starts_with(prefix); ++at)
      out.push_back({.key = at->first, .bytes = at->second.size()});
    return out;
  }

 private:
  protocol_answer carry_out(const protocol_request& request) {
    protocol_answer out;
    switch (request.what) {
      case verb::list: out.listing = list(request.keys[0]); break;
      case verb::read:
        for (const std::string& key : request.keys) {
          const auto at = objects.find(key);
          out.found.push_back(at == objects.end() ? std::nullopt : std::optional(at->second));
        }
        break;
      case verb::write: objects[request.keys[0]] = request.bytes; break;
      case verb::create:
        if (conditions)
          out.created = objects.emplace(request.keys[0], request.bytes).second;
        else
          objects[request.keys[0]] = request.bytes;
        break;
      case verb::remove:
        for (const std::string& key : request.keys) objects.erase(key);
        break;
      case verb::pause: now += request.pause; break;
    }
    return out;
  }
};

/// One job of `ranks` ranks, of which rank 0's requests go through `perform`.
class job {
 public:
  using performer = std::function<protocol_answer(const protocol_request&)>;

  job(store& in, std::uint64_t seed, std::uint64_t ranks, performer perform)
      : store_(in), seed_(seed), ranks_(ranks), perform_(std::move(perform)) {}
  job(store& in, std::uint64_t seed, std::uint64_t ranks)
      : job(in, seed, ranks, [&in](const protocol_request& r) { return in.perform(r); }) {}

  void start() {
    run_.emplace();
    run(begin_start(channel_,
                    {.token = "launch " + std::to_string(seed_),
                     .ranks = ranks_,
                     .seed = seed_,
                     .warn = [this](const std::string& w) { warnings.push_back(w); }},
                    *run_));
    if (run_->manifest) newest_ = run_->manifest->id;
    retention_.emplace(retention_policy{.last = 2, .every = 50}, run_->record, milliseconds(1000));
  }

  /// All ranks store their parts; rank 0 commits, then retains.
  void save(std::uint64_t step) {
    commit(step);
    retain(step);
  }

  void commit(std::uint64_t step) {
    const save_id id{run_->record.id, step};
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) store_rank(id, rank);
    checkpoint_manifest made;
    run(commit_checkpoint(channel_,
                          {.id = id,
                           .parent = newest_,
                           .ranks = ranks_,
                           .patience = milliseconds(60'000),
                           .seed = seed_},
                          made));
    newest_ = made.id;
    committed.push_back(made.id);
  }

  void retain(std::uint64_t saved) {
    retention_plan plan;
    run(retention_->sweep(channel_, saved, store_.now, plan));
    removed += plan.manifests.size() + plan.orphans.size();
  }

  /// A float of the step for each of 12 elements, cut into rows by the ranks.
  void store_rank(save_id id, std::uint64_t rank) {
    std::vector<float> values(12, static_cast<float>(id.step));
    mds::tensor_list list;
    const std::uint64_t first = rank * 12 / ranks_, end = (rank + 1) * 12 / ranks_;
    list.add("w", mds::tensor_type::f32, {12}, {{first}, {end - first}}, values.data());
    const auto files = plan_files(list, rank, 1 << 20);
    for (const planned_file& file : files) {
      std::string bytes = file.head;
      for (const planned_piece& piece : file.pieces)
        bytes.append(reinterpret_cast<const char*>(values.data()),
                     static_cast<std::size_t>(piece.bytes));
      write(id.directory() + file.name, bytes);
    }
    write(id.record(rank),
          write_record({.id = id,
                        .rank = rank,
                        .ranks = ranks_,
                        .loader_state = "{\"step\":" + std::to_string(id.step) + '}',
                        .data = layout_of(list, files)}));
  }

  [[nodiscard]] const started_run& started() const { return *run_; }
  [[nodiscard]] std::optional<std::uint64_t> resumed_step() const {
    return run_->manifest ? std::optional(run_->manifest->id.step) : std::nullopt;
  }

  std::vector<save_id> committed;
  std::vector<std::string> warnings;
  std::size_t removed = 0;

 private:
  void run(protocol made) { run_protocol(channel_, std::move(made), perform_); }
  void write(const std::string& key, const std::string& bytes) {
    const protocol_answer answer =
        perform_({.what = verb::write, .keys = {key}, .bytes = bytes, .pause = {}});
    (void)require(answer, "cannot write");
  }

  store& store_;
  std::uint64_t seed_;
  std::uint64_t ranks_;
  performer perform_;
  protocol_channel channel_;
  std::optional<started_run> run_;
  std::optional<save_id> newest_;
  std::optional<retention> retention_;
};

/// The value of all elements of a checkpoint, read from the store; nothing where one differs or
/// lacks.
inline std::optional<float> value_of(const store& in, const started_run& run) {
  if (!run.manifest) return std::nullopt;
  read_planner planner(run.layout);
  planner.want("w", mds::box::whole({12}), 0);
  const read_plan plan = std::move(planner).plan();
  std::vector<float> values(12, -1);
  for (const planned_range& range : plan.ranges) {
    const auto at =
        in.objects.find(run.manifest->id.directory() + run.layout.files[range.file].name);
    if (at == in.objects.end() || at->second.size() < range.end) return std::nullopt;
    for (const std::uint32_t copy : range.copies)
      copy_window(
          plan.copies[copy],
          {range.begin, mds::as_bytes(at->second).subspan(range.begin, range.end - range.begin)},
          reinterpret_cast<std::byte*>(values.data()));
  }
  for (const float each : values)
    if (each != values[0]) return std::nullopt;
  return values[0];
}

/// A job that starts now and tells what it goes on from. Checks that this is whole.
inline std::optional<std::uint64_t> next_start(store& in, std::uint64_t seed,
                                               std::uint64_t ranks = 3) {
  in.fault_at = ~std::size_t{0};
  job next(in, seed, ranks);
  next.start();
  const auto step = next.resumed_step();
  if (step && value_of(in, next.started()) != static_cast<float>(*step))
    throw std::runtime_error("a checkpoint of step " + std::to_string(*step) + " is not whole");
  return step;
}

}  // namespace model_run
