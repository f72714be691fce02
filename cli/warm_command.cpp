// mdstream warm: fills a cache for ranks that are to join a run.

#include <mdstream/full.hpp>

#include "command.hpp"
#include "formats.hpp"
#include "loader_configuration.hpp"
#include "patience.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace {

struct warm_arguments {
  std::string config, state, ranks;
  std::vector<std::uint64_t> world = {1, 1};  // nodes, ranks on each
  std::uint64_t batches = 100;
  std::optional<std::chrono::milliseconds> patience;  // else the configuration's
};

// Numbers and ranges, as "0,4-7"; each below `end`.
std::vector<std::uint64_t> parse_ranks(std::string_view text, std::uint64_t end) {
  std::vector<std::uint64_t> out;
  const auto refuse = [&] {
    throw usage_error("--ranks takes ranks below " + std::to_string(end) +
                      ", which is the world's number, and rising ranges of them, as 0,4-7; not \"" +
                      std::string(text) + '"');
  };
  const auto number = [&](std::string_view digits) {
    std::uint64_t value = 0;
    const auto [stop, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_whole = !digits.empty() && stop == digits.data() + digits.size();
    if (!is_whole || failure != std::errc{} || value >= end) refuse();
    return value;
  };
  for (std::string_view rest = text;;) {
    const std::string_view each = rest.substr(0, rest.find(','));
    const std::size_t dash = each.find('-');
    const std::uint64_t first = number(each.substr(0, dash));
    const std::uint64_t last =
        dash == std::string_view::npos ? first : number(each.substr(dash + 1));
    if (last < first) refuse();
    for (std::uint64_t rank = first; rank <= last; ++rank) out.push_back(rank);
    if (each.size() == rest.size()) return out;
    rest.remove_prefix(each.size() + 1);
  }
}

class warming {
 public:
  explicit warming(const warm_arguments& args)
      : args_(args), configuration_(read_loader_configuration(args.config, args.patience)) {
    mds::loader_options& options = configuration_.options;
    options.world = mds::world{.nodes = args.world[0],
                               .ranks_per_node = args.world[1],
                               .workers_per_rank = options.num_workers.value_or(1)};
    options.world->check();
    ranks_ = parse_ranks(args.ranks, options.world->num_ranks());
    threads_.emplace(options.threads);
    options.shared_runtime = &*threads_;
    // Enough to keep the line busy, and little beyond the last batch.
    const std::uint64_t each = options.batch_size != 0
                                   ? options.batch_size
                                   : options.global_batch_size / options.world->num_ranks();
    options.predownload = std::min<std::uint64_t>(args.batches, 8) * each;
    if (!args.state.empty()) state_ = text_of_file(args.state);
  }

  void run() {
    for (const std::uint64_t rank : ranks_) warm(rank);
    print({{"summary",
            {{"ranks", ranks_.size()}, {"batches", batches_}, {"bytes_fetched", bytes_fetched_}}}});
  }

 private:
  // What a rank reads is what it needs: its batches are read and thrown away.
  void warm(std::uint64_t rank) {
    mds::loader_options options = configuration_.options;
    options.world->rank = rank;
    mds::loader<policies> one(options);
    if (!state_.empty()) one.load_state(state_);
    const std::uint64_t end =
        configuration_.epochs.value_or(std::numeric_limits<std::uint64_t>::max());
    std::uint64_t left = args_.batches;
    mds::loader<policies>::batch_type batch;
    while (left > 0 && one.next_epoch() < end) {
      auto rest = one.epoch();
      for (; left > 0 && rest.next(batch); --left) ++batches_;
    }
    bytes_fetched_ += one.counters().bytes_fetched;
  }

  warm_arguments args_;
  loader_configuration configuration_;
  std::optional<mds::runtime> threads_;
  std::vector<std::uint64_t> ranks_;
  std::string state_;
  std::uint64_t batches_ = 0, bytes_fetched_ = 0;
};

}  // namespace

void add_warm(CLI::App& program) {
  auto args = std::make_shared<warm_arguments>();
  CLI::App* const command = program.add_subcommand(
      "warm", "Fetch into the cache what the next batches of some ranks need");
  command->add_option("--config", args->config, "JSON object with StreamingDataset's arguments")
      ->required()
      ->type_name("FILE");
  command->add_option("--state", args->state, "The saved state that the run resumes from")
      ->type_name("FILE");
  command->add_option("--world", args->world, "Nodes and ranks per node of the resumed run")
      ->delimiter(',')
      ->expected(2)
      ->type_name("P,R");
  command->add_option("--ranks", args->ranks, "Ranks of this machine, as 0,4-7")
      ->required()
      ->type_name("LIST");
  command->add_option("--batches", args->batches, "Batches of each rank")->capture_default_str();
  add_patience(*command, [&of = *args](std::chrono::milliseconds most) { of.patience = most; });
  command->callback([args] { warming(*args).run(); });
}

}  // namespace cli
