// The training loop, written once for one process and for several.

#include "train.hpp"
#include "data.hpp"
#include "digest.hpp"
#include "events.hpp"
#include "progress.hpp"
#include "run_log.hpp"
#include "tcp_exchange.hpp"
#include "timing.hpp"
#include "training.hpp"

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/launch/loss_guard.hpp>
#include <mdstream/launch/stop_request.hpp>
#include <mdstream/launch/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef QUICKSTART_MPI
#include "mpi_exchange.hpp"
#endif

namespace quickstart {

namespace {

// The places of the checkpoints besides the first.
std::vector<mds::opened_store> mirrors(const std::vector<std::string>& urls) {
  std::vector<mds::opened_store> out;
  for (std::size_t i = 1; i < urls.size(); ++i) out.push_back(policies::store::open(urls[i]));
  return out;
}

// One process's part of a run, from a checkpoint on.
template <class Exchange>
class training_run {
 public:
  training_run(const places& where, const train_options& options, Exchange& exchange,
               mds::launch::stop_request& stop, mds::launch::loss_guard& guard)
      : where_(where),
        options_(options),
        exchange_(exchange),
        stop_(stop),
        guard_(guard),
        trainer_({.context = 12, .hidden = 192}, {.rate = 3e-3, .steps = options.steps}, exchange,
                 threads()),
        loader_(loader_options()),
        held_out_(read_held_out(where, held_out_rows)),
        saver_({.run = policies::store::open(where.checkpoints(options.run).front()),
                .mirrors = mirrors(where.checkpoints(options.run)),
                .world = loader_.ranks(),
                .broadcast = [this](std::string& text) { exchange_.broadcast(text); },
                .accept = [this](const auto& saved) { return guard_.accepts(saved.text("guard")); },
                .memory = 64_MiB,
                .keep = {.last = 3, .grace = std::chrono::minutes(1)}}) {
    const mds::replica own{.index = exchange.rank(), .of = exchange.ranks()};
    const auto add = [&](const char* name, std::vector<float>& values) {
      tensors_.replicated(name, mds::tensor_type::f32, {values.size()}, values.data(), own);
    };
    add("parameters", trainer_.parameters());
    add("adam.mean", trainer_.optimizer().mean());
    add("adam.square", trainer_.optimizer().square());
  }

  // The exit status; nothing where the loss has gone wrong and the run has to go back to its last
  // checkpoint.
  std::optional<int> operator()() {
    check_world();
    timing_.open = clock_.lap();
    resume();
    check_agreement();
    timing_.checkpoint = clock_.lap();
    if (leads()) log_.emplace(where_.log(options_.run), step_);
    if (step_ >= options_.steps) ending_ = ending::complete;
    while (ending_ == ending::none) epoch();
    const auto pause = dog_.pause();  // storing is no step
    saver_.finish();
    (void)any_rank(false);  // launchers end all ranks as soon as one has returned a failure
    if (ending_ == ending::bad_loss) return std::nullopt;
    return ending_ == ending::asked_for ? stop_.exit_status() : 0;
  }

 private:
  // Why the loop ends: the same on all ranks.
  enum class ending { none, complete, asked_for, bad_loss };

  // A wait for data that is worth a line.
  static constexpr std::chrono::milliseconds long_wait{500};

  [[nodiscard]] bool leads() const { return exchange_.rank() == 0; }

  // The loader reads the world from the launcher's environment, the exchange asks the launcher.
  void check_world() const {
    const mds::world& world = loader_.ranks();
    if (world.num_ranks() != exchange_.ranks() || world.rank != exchange_.rank()) {
      throw std::runtime_error(
          "the environment says rank " + std::to_string(world.rank) + " of " +
          std::to_string(world.num_ranks()) + ", but this process can exchange gradients as rank " +
          std::to_string(exchange_.rank()) + " of " + std::to_string(exchange_.ranks()) +
          ": start several ranks with mpirun or srun, and a build that found MPI");
    }
  }

  // Ranks that read other data, in another order or from another step would train on nonsense.
  void check_agreement() {
    mdstream::fnv1a own;
    own.add(loader_.state()).add(guard_.state());
    own.add(step_).add(options_.steps).add(options_.run);
    std::array<std::uint64_t, groups> all;
    all.fill(own.value());
    exchange_.share(std::span<std::uint64_t>(all));
    for (std::size_t group = 0; group < groups; ++group) {
      if (all[group] != own.value()) {
        // In this order, whichever of them is heard first.
        const auto [low, high] =
            std::minmax<std::size_t>({std::size_t{exchange_.rank()}, group % exchange_.ranks()});
        throw std::runtime_error("ranks " + std::to_string(low) + " and " + std::to_string(high) +
                                 " differ in data, options or the step that they begin at");
      }
    }
  }

  // On all ranks, once all have called it: whether it is so on any.
  bool any_rank(bool here) {
    std::array<std::uint8_t, groups> all;
    all.fill(here ? 1 : 0);
    exchange_.share(std::span<std::uint8_t>(all));
    return std::ranges::any_of(all, [](std::uint8_t each) { return each != 0; });
  }

  [[nodiscard]] std::size_t threads() const {
    if (options_.threads != 0) return options_.threads;
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp(cores / exchange_.ranks(), std::size_t{1}, groups / exchange_.ranks());
  }

  // All ranks of a machine share one cache directory.
  [[nodiscard]] auto loader_options() const {
    return mds::loader<policies>::options{
        .streams = {{.remote = where_.data() + "/prose", .proportion = prose_share},
                    {.remote = where_.data() + "/code", .proportion = code_share}},
        .local = where_.cache(),
        .cache_limit = options_.cache_mb << 20,
        .global_batch_size = global_batch,
        .seed = 9176,
        .epoch_size = 400 * global_batch,
        .shuffle_block_size = 2'000,
        .num_canonical_nodes = 1,
        .predownload = options_.predownload};
  }

  void epoch() {
    auto epoch = loader_.epoch();
    auto waiting = stopwatch::clock::now();
    for (auto& batch : epoch) {
      const auto waited = stopwatch::clock::now() - waiting;
      watch_.stalled(waited);
      if (done_here_ > 0 && waited >= long_wait)
        timing_log_.wait(step_, std::chrono::duration<double>(waited).count());
      // A last batch that is not full holds repeats or fewer rows: it is left out, and so is what
      // the guard has found bad.
      if (batch.size() == global_batch / exchange_.ranks() && guard_.take()) learn(batch);
      if (ending_ != ending::none) return;
      waiting = stopwatch::clock::now();
    }
  }

  void learn(mds::loader<policies>::batch_type& rows) {
    rows.ready_on(nullptr);
    if (done_here_ == 0) {
      timing_.first_batch = clock_.lap();
      if (leads()) timing_log_.start(timing_, exchange_.ranks(), step_);
    }
    const auto text = rows.template get<"text">();
    const auto row = [&](std::size_t i) { return std::span<const std::uint8_t>(text[i]); };
    log_entry entry{.step = step_};
    entry.digest = batch_digest(exchange_, rows.size(), row);
    entry.loss = trainer_.step(step_, rows.size(), row, [this] { saver_.wait_snapshot(); });
    if (guard_.batches() == options_.bad_batch)
      entry.loss = std::numeric_limits<double>::quiet_NaN();
    if (!passes_guard(entry.loss)) {
      ending_ = ending::bad_loss;
      return;
    }
    ++step_;
    if (step_ % options_.evaluate_every == 0 || step_ == options_.steps) {
      entry.held_out = held_out_loss_ = trainer_.evaluate(held_out_rows, [&](std::size_t i) {
        return std::span<const std::uint8_t>(corpus::row(held_out_, i));
      });
    }
    loss_ = loss_ == 0.0 ? entry.loss : 0.95 * loss_ + 0.05 * entry.loss;
    ++done_here_;
    if (leads()) {
      log_->add(entry);
      timing_log_.note("step", entry.step);
      line_.show({.step = step_,
                  .steps = options_.steps,
                  .samples = done_here_ * global_batch,
                  .loss = loss_,
                  .held_out = held_out_loss_},
                 watch_, step_ == options_.steps);
    }
    dog_.step();
    if (step_ == options_.steps)
      ending_ = ending::complete;
    else if (stop_.requested([this](bool here) { return any_rank(here); }))
      ending_ = ending::asked_for;
    if (step_ % options_.save_every == 0 || ending_ == ending::asked_for) save();
  }

  void save() {
    if (leads()) timing_log_.note("save", step_);
    saver_.save(step_, tensors_,
                {.loader_state = loader_.state(), .metadata = {{"guard", guard_.state()}}});
  }

  // All ranks come to the same verdict: they have the loss of the global batch.
  bool passes_guard(double loss) {
    const auto verdict = guard_.judge(loss);
    if (verdict == mds::launch::loss_verdict::give_up)
      throw std::runtime_error("the loss went wrong again after " +
                               std::to_string(guard_.returns() - 1) + " returns to a checkpoint");
    if (leads() && verdict == mds::launch::loss_verdict::go_back)
      std::fprintf(stderr, "batch %llu is left out: its loss is %g; back to a checkpoint\n",
                   static_cast<unsigned long long>(guard_.batches()), loss);
    return verdict == mds::launch::loss_verdict::go_on;
  }

  // A run that was killed before its first save begins anew.
  void resume() {
    const mds::resumed_run resumed = saver_.resume(tensors_, loader_);
    step_ = resumed.step;
    if (guard_.load_state(resumed.metadata.text("guard"))) {  // the next start has to know why
      save();
      saver_.finish();
    }
    if (leads() && step_ > 0) {
      const std::vector<log_entry> known = read_log_if_any(where_.log(options_.run));
      const std::uint64_t done_before = known.empty() ? step_ : known.back().step + 1;
      const std::string ranks =
          std::to_string(exchange_.ranks()) + (exchange_.ranks() == 1 ? " rank" : " ranks");
      std::fprintf(stderr, "run '%s' goes on at step %llu on %s\n", options_.run.c_str(),
                   static_cast<unsigned long long>(step_), ranks.c_str());
      add_event(where_, options_.run, {.step = done_before, .text = "stopped"});
      add_event(where_, options_.run, {.step = step_, .text = "on " + ranks});
    }
  }

  lap_clock clock_;
  start_timing timing_{.began = unix_seconds()};
  places where_;
  train_options options_;
  Exchange& exchange_;
  mds::launch::stop_request& stop_;
  mds::launch::loss_guard& guard_;
  trainer<Exchange> trainer_;
  mds::loader<policies> loader_;
  std::vector<std::uint8_t> held_out_;
  mds::tensor_list tensors_;
  mds::checkpoint_saver saver_;
  timing_log timing_log_{where_, options_.run};
  std::optional<run_log> log_;
  progress_line line_;
  stopwatch watch_;
  std::uint64_t step_ = 0, done_here_ = 0;
  double loss_ = 0.0, held_out_loss_ = 0.0;
  ending ending_ = ending::none;
  // Ends a process that stands still, because another rank does, for its launcher to start all.
  mds::launch::watchdog dog_{
      {.least = options_.step_limit, .waits_for = [this] { return loader_.waits_for(); }}};
};

// Trains until the run ends; after a loss that went wrong, from the last checkpoint on.
template <class Exchange>
int train_on(Exchange& exchange, const places& where, const train_options& options,
             mds::launch::stop_request& stop) {
  mds::launch::loss_guard guard({.batches = options.leave_out});
  for (;;)
    if (const auto status = training_run<Exchange>(where, options, exchange, stop, guard)())
      return *status;
}

}  // namespace

int train(const places& where, const train_options& options) {
  note_process(where, options.run);
  mds::launch::stop_request stop;
  if (const char* const meeting = std::getenv("QUICKSTART_MEETING")) {
    const mds::world world = mds::launch::from_environment(
        [](const char* name) -> const char* { return std::getenv(name); });
    tcp_exchange others(meeting, world.rank, world.num_ranks());
    return train_on(others, where, options, stop);
  }
#ifdef QUICKSTART_MPI
  if (mpi_exchange::launched()) {
    mpi_exchange others;
    try {
      return train_on(others, where, options, stop);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "quickstart: rank %zu: error: %s\n", others.rank(), e.what());
      mpi_exchange::abort();
    }
  }
#endif
  alone nobody;
  return train_on(nobody, where, options, stop);
}

}  // namespace quickstart
