// mdstream order: which sample comes when.

#include <mdstream/core/fnv.hpp>

#include "command.hpp"
#include "order_cases.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cli {

namespace {

struct order_arguments {
  std::string cases;
  std::uint64_t samples = 0, shards = 1, seed = 9176, epoch = 0, batch_size = 1, from = 0;
  std::optional<std::uint64_t> ncn, block_size, count;
  std::string shuffler = "py1e";
  std::vector<std::uint64_t> world = {1, 1, 1};
  bool quiet = false;
};

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

json answer(const json& given, std::size_t number) {
  try {
    const described_order described(given);
    const std::vector<std::int64_t> ids = described.ids_in_c_order();
    mds::fnv1a hash;
    for (const std::int64_t id : ids) hash.add(id);
    const auto head = std::span(ids).first(std::min<std::size_t>(ids.size(), 6));
    return {{"case", number},
            {"ncn_eff", described.start().num_canonical_nodes},
            {"block_size_eff", described.start().shuffle_block_size},
            {"epoch_size_eff", described.epoch_size()},
            {"shape", described.shape()},
            {"n", ids.size()},
            {"hash", hex(hash.value())},
            {"head", std::vector<std::int64_t>(head.begin(), head.end())}};
  } catch (const mds::error& e) {
    return {{"case", number}, {"error", one_line(e.what())}};
  }
}

void run_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw mds::error(mds::errc::not_found, {.what = "cannot read the cases", .url = path});
  const json all = json::parse(file);
  std::size_t number = 0;
  for (const json& given : all.at("cases")) {
    json whole = all.at("defaults");
    whole.update(given);
    print(answer(whole, number++));
  }
}

json case_of(const order_arguments& args) {
  json sizes = json::array();
  for (std::uint64_t shard = 0; shard < args.shards; ++shard) {
    const std::uint64_t each = args.samples / args.shards, left = args.samples % args.shards;
    sizes.push_back(each + (shard < left ? 1 : 0));
  }
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  return {{"streams", json::array({{{"shards", std::move(sizes)}}})},
          {"sampling_method", "balanced"},
          {"granularity", 1},
          {"partition_algo", "relaxed"},
          {"ncn", or_null(args.ncn)},
          {"batch_size", args.batch_size},
          {"shuffle", args.shuffler != "none"},
          {"shuffle_algo", args.shuffler == "none" ? "naive" : args.shuffler},
          {"seed", args.seed},
          {"block_size", or_null(args.block_size)},
          {"epoch_size", nullptr},
          {"batching", "random"},
          {"world", args.world},
          {"replication", nullptr},
          {"resume", nullptr},
          {"epoch", args.epoch}};
}

// Ids in global order: batch after batch, within a batch rank after rank.
void run_one(const order_arguments& args) {
  if (args.samples == 0) throw usage_error("order needs --cases FILE or --samples N");
  if (args.shards == 0 || args.shards > args.samples) {
    throw usage_error("--shards has to be between 1 and the number of samples");
  }
  const described_order described(case_of(args));
  const mds::epoch_order& order = described.order();
  const std::uint64_t first = std::min(args.from, order.positions());
  const std::uint64_t rest = order.positions() - first;
  std::uint64_t left = std::min(args.count.value_or(rest), rest);
  mds::fnv1a hash;
  std::vector<std::int64_t> ids;
  std::string text;
  for (std::uint64_t at = first; left > 0; at += ids.size(), left -= ids.size()) {
    ids.resize(std::min<std::uint64_t>(left, 1 << 16));
    order.ids(at, ids);
    text.clear();
    for (const std::int64_t id : ids) {
      hash.add(id);
      if (!args.quiet) text.append(std::to_string(id)).push_back('\n');
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  if (args.quiet) std::printf("%s\n", hex(hash.value()).c_str());
}

}  // namespace

void add_order(CLI::App& program) {
  auto args = std::make_shared<order_arguments>();
  CLI::App* const command = program.add_subcommand("order", "Print the order of sample ids");
  command->add_option("--cases", args->cases, "File of cases; one JSON line for each")
      ->type_name("FILE");
  command->add_option("--samples", args->samples, "Samples of the dataset");
  command->add_option("--shards", args->shards, "Shards of equal size that hold them")
      ->capture_default_str();
  command->add_option("--ncn", args->ncn, "Canonical nodes [number of nodes]");
  command
      ->add_option("--shuffler", args->shuffler,
                   "py1e, bijection, py1br, py1s, py2s, naive or none")
      ->capture_default_str();
  command->add_option("--block-size", args->block_size, "Shuffle block size in samples");
  command->add_option("--seed", args->seed, "Shuffle seed")->capture_default_str();
  command->add_option("--epoch", args->epoch, "Epoch, from 0")->capture_default_str();
  command->add_option("--world", args->world, "Nodes, ranks per node, workers per rank")
      ->delimiter(',')
      ->expected(3)
      ->type_name("P,R,W");
  command->add_option("--batch-size", args->batch_size, "Samples in a rank's batch")
      ->capture_default_str();
  command->add_option("--from", args->from, "First position to print")->capture_default_str();
  command->add_option("--count", args->count, "Positions to print [all]");
  command->add_flag("--quiet", args->quiet, "Print only the FNV-1a hash of the ids");
  command->callback([args] {
    if (args->cases.empty())
      run_one(*args);
    else
      run_cases(args->cases);
  });
}

}  // namespace cli
