#pragma once

/// The world of a run from the environment that its launcher set: torchrun, Slurm, Open MPI, MPICH,
/// AWS Batch or Kubernetes.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/world.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace mdstream::inline v0::launch {

/// The parts of the world that the caller sets; others come from the environment.
///
///     const mds::world world =
///         mds::launch::from_environment(&std::getenv, {.ranks_per_node = 8});
struct world_options {
  std::optional<std::uint64_t> rank{};       ///< this process's number; default: the launcher's
  std::optional<std::uint64_t> num_ranks{};  ///< of all nodes; default: the launcher's
  std::optional<std::uint64_t> ranks_per_node{};  ///< on a node; default: the launcher's
  /// Data-loader workers of the Python run that has the same order; threads are not workers.
  std::uint64_t workers_per_rank = 1;
};

namespace detail {

/// The names under which a launcher tells its numbers. An empty name: it does not tell.
struct launcher {
  std::string_view name;
  std::string_view rank, num_ranks, local_rank{}, ranks_per_node{};
  std::string_view nodes{};     ///< that the ranks run on
  std::string_view machines{};  ///< that were allocated, where `nodes` is not told
  std::string_view task{};      ///< only processes that it started as ranks have this
  /// Where it does not tell how many ranks a node has, there is one.
  bool one_on_each_node = false;
  /// What it started may be another launcher, whose ranks are others, or a script and no rank.
  bool may_start_others = false;
};

/// The one that started the process itself first: torchrun and mpirun run inside of Slurm's jobs
/// and of pods.
inline constexpr std::array<launcher, 7> launchers{{
    {.name = "torchrun",
     .rank = "RANK",
     .num_ranks = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .ranks_per_node = "LOCAL_WORLD_SIZE",
     .one_on_each_node = true},
    {.name = "Open MPI",
     .rank = "OMPI_COMM_WORLD_RANK",
     .num_ranks = "OMPI_COMM_WORLD_SIZE",
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .ranks_per_node = "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {.name = "MPICH",
     .rank = "PMI_RANK",
     .num_ranks = "PMI_SIZE",
     .local_rank = "MPI_LOCALRANKID",
     .ranks_per_node = "MPI_LOCALNRANKS"},
    {.name = "Slurm",
     .rank = "SLURM_PROCID",
     .num_ranks = "SLURM_NTASKS",
     .local_rank = "SLURM_LOCALID",
     .ranks_per_node = "SLURM_NTASKS_PER_NODE",
     .nodes = "SLURM_STEP_NUM_NODES",
     .machines = "SLURM_NNODES",
     .task = "SLURM_STEP_ID",
     .may_start_others = true},
    {.name = "AWS Batch",
     .rank = "AWS_BATCH_JOB_NODE_INDEX",
     .num_ranks = "AWS_BATCH_JOB_NUM_NODES",
     .one_on_each_node = true,
     .may_start_others = true},
    {.name = "Kubernetes",
     .rank = "JOB_COMPLETION_INDEX",
     .num_ranks = "WORLD_SIZE",
     .one_on_each_node = true,
     .may_start_others = true},
    {.name = "PMIx", .rank = "PMIX_RANK", .num_ranks = "", .may_start_others = true},
}};

/// What one launcher said, and the names under which it did.
struct claim {
  launcher from{};
  std::optional<std::uint64_t> rank{}, num_ranks{}, local_rank{}, ranks_per_node{};

  /// Slurm sets some of its names outside of any task, too.
  [[nodiscard]] bool complete() const { return rank && num_ranks; }
};

using mdstream::detail::refuse;

[[nodiscard]] std::uint64_t parse_number(std::string_view name, std::string_view text);

/// The environment as a lookup: a model of getenv, asked for names and answering text or null.
template <class Getenv>
[[nodiscard]] std::optional<std::uint64_t> number(const Getenv& lookup, std::string_view name) {
  if (name.empty()) return std::nullopt;
  const char* const text = lookup(std::string(name).c_str());
  if (text == nullptr || *text == '\0') return std::nullopt;
  return parse_number(name, text);
}

/// A number of ranks: at least one.
template <class Getenv>
[[nodiscard]] std::optional<std::uint64_t> count(const Getenv& lookup, std::string_view name) {
  const std::optional<std::uint64_t> out = number(lookup, name);
  if (out == std::uint64_t{0})
    mdstream::detail::refuse("environment: " + std::string(name) +
                             "=0: there is at least one rank");
  return out;
}

template <class Getenv>
[[nodiscard]] claim ask(const Getenv& lookup, const launcher& from) {
  claim out{.from = from,
            .rank = number(lookup, from.rank),
            .num_ranks = count(lookup, from.num_ranks),
            .local_rank = number(lookup, from.local_rank),
            .ranks_per_node = count(lookup, from.ranks_per_node)};
  const std::optional<std::uint64_t> nodes = count(lookup, from.nodes);
  const std::optional<std::uint64_t> machines = count(lookup, from.machines);
  // Slurm's number for each node is what the job asked for; a step may have fewer ranks.
  if (out.num_ranks && nodes && *out.num_ranks % *nodes == 0)
    out.ranks_per_node = *out.num_ranks / *nodes;
  else if (out.num_ranks && !out.ranks_per_node && machines && *out.num_ranks % *machines == 0)
    out.ranks_per_node = *out.num_ranks / *machines;
  // The batch script is no rank, though it has the first one's number.
  if (out.rank == std::uint64_t{0} && !from.task.empty() && !number(lookup, from.task))
    out.rank.reset();
  return out;
}

/// Half a world would silently be a world of one rank.
[[nodiscard]] bool is_half(const claim& told) noexcept;
[[noreturn]] void refuse_half(const claim& told);

/// Takes from the launcher that started another one how many ranks a node has, where that one does
/// not tell and both mean the same ranks: Slurm's, of those that it started by MPICH's protocol.
void complete_nodes(claim& chosen, const claim& outer);

void check_agreement(std::string_view a, std::string_view b, const std::optional<std::uint64_t>& x,
                     const std::optional<std::uint64_t>& y);

/// Two launchers may both be at work (torchrun for each node inside of mpirun); where both tell the
/// same number of ranks they have to agree on this one's.
void check_agreement(const claim& a, const claim& b);

/// What the launcher that started this process says.
template <class Getenv>
[[nodiscard]] claim claim_of_environment(const Getenv& lookup) {
  claim chosen;
  std::optional<claim> half;
  for (const launcher& from : launchers) {
    const claim next = ask(lookup, from);
    if (!next.complete()) {
      if (!half && is_half(next)) half = next;
    } else if (!chosen.complete()) {
      chosen = next;
    } else if (from.may_start_others) {
      complete_nodes(chosen, next);
    } else {
      check_agreement(chosen, next);
    }
  }
  if (half && !chosen.complete()) refuse_half(*half);
  return chosen;
}

}  // namespace detail

/// The world of this process. `lookup` gets a name and returns its value or null, as `std::getenv`
/// does. Options come first, then the variables of torchrun (RANK, WORLD_SIZE, LOCAL_RANK,
/// LOCAL_WORLD_SIZE), Open MPI, MPICH, Slurm and AWS Batch, then a Kubernetes Job's index with
/// WORLD_SIZE. Without any of them it is one rank on one node. If only the number of all ranks is
/// known, there is one rank on each node for torchrun (as in Python), AWS Batch and Kubernetes; for
/// the others it is an error.
///
/// Throws `errc::invalid_argument` for values that are no numbers, a rank without the number of
/// ranks or the other way round, launchers that contradict each other, a rank outside the world,
/// and nodes that are not all of the same size.
///
///     const mds::world world = mds::launch::from_environment(&std::getenv);
///     mds::loader<> loader({.remote = "s3://bucket/c4", .batch_size = 32, .world = world});
template <class Getenv>
  requires std::convertible_to<std::invoke_result_t<const Getenv&, const char*>, const char*>
[[nodiscard]] world from_environment(const Getenv& lookup, const world_options& options = {}) {
  using detail::refuse;
  detail::claim told;
  if (!(options.rank && options.num_ranks && options.ranks_per_node))
    told = detail::claim_of_environment(lookup);
  const std::uint64_t ranks = options.num_ranks.value_or(told.num_ranks.value_or(1));
  const std::uint64_t rank = options.rank.value_or(told.rank.value_or(0));
  const bool unclear = told.complete() && *told.num_ranks > 1 && !told.from.one_on_each_node;
  if (!options.ranks_per_node && !told.ranks_per_node && unclear)
    refuse("environment: " + std::string(told.from.name) + " tells " + std::to_string(ranks) +
           " ranks, but not how many a node has (" + std::string(told.from.ranks_per_node) + ")");
  const std::uint64_t on_node = options.ranks_per_node.value_or(told.ranks_per_node.value_or(1));
  if (on_node == 0 || ranks == 0 || ranks % on_node != 0)
    refuse(std::to_string(ranks) + " ranks are not a whole number of nodes with " +
           std::to_string(on_node) + " ranks each");
  const world out{.nodes = ranks / on_node,
                  .ranks_per_node = on_node,
                  .workers_per_rank = options.workers_per_rank,
                  .rank = rank};
  out.check();
  const bool all_told = !options.rank && !options.num_ranks && !options.ranks_per_node;
  if (all_told && told.local_rank && *told.local_rank != out.rank_of_node())
    refuse("environment: " + std::string(told.from.local_rank) + "=" +
           std::to_string(*told.local_rank) + " contradicts rank " + std::to_string(rank) +
           " on nodes with " + std::to_string(on_node) + " ranks");
  return out;
}

/// A text that all ranks of one launch of a job have, and no other launch, also not a restart. It
/// is made of Slurm's job and step, torchrun's run or PMIx's namespace, and the number of restarts.
/// Empty if the environment has none of them, and for torchrun without `--rdzv-id`, which names all
/// its runs "none".
///
///     options.token = mds::launch::token_from_environment(&std::getenv);
template <class Getenv>
  requires std::convertible_to<std::invoke_result_t<const Getenv&, const char*>, const char*>
[[nodiscard]] std::string token_from_environment(const Getenv& lookup) {
  std::string out;
  const auto add = [&](const char* name) {
    const char* const text = lookup(name);
    if (text == nullptr || *text == '\0' || std::string_view(text) == "none") return false;
    out.append(out.empty() ? "" : " ").append(name).append("=").append(text);
    return true;
  };
  const bool slurm = add("SLURM_JOB_ID");
  if (slurm)
    for (const char* const more : {"SLURM_RESTART_COUNT", "SLURM_STEP_ID"}) (void)add(more);
  const bool torchrun = add("TORCHELASTIC_RUN_ID"), pmix = add("PMIX_NAMESPACE");
  if (slurm || torchrun || pmix) (void)add("TORCHELASTIC_RESTART_COUNT");
  return out;
}

}  // namespace mdstream::inline v0::launch

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/launch/detail/impl/environment.ipp>
#endif
