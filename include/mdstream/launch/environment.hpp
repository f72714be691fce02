#pragma once

/// The world of a run from the environment that its launcher set: torchrun, Slurm, Open MPI or
/// MPICH.

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

/// What the caller says about the world; what stays empty comes from the environment.
struct world_options {
  std::optional<std::uint64_t> rank{};
  std::optional<std::uint64_t> num_ranks{};
  std::optional<std::uint64_t> ranks_per_node{};
  std::uint64_t workers_per_rank = 1;
};

namespace detail {

/// The names under which a launcher tells its numbers. An empty name: it does not tell.
struct launcher {
  std::string_view name;
  std::string_view rank, num_ranks, local_rank, ranks_per_node, nodes;
};

/// The one that started the process itself first: torchrun and mpirun run inside of Slurm's jobs.
inline constexpr std::array<launcher, 4> launchers{{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", ""},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", ""},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ""},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE",
     "SLURM_NNODES"},
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
  if (out.num_ranks && !out.ranks_per_node && nodes && *out.num_ranks % *nodes == 0)
    out.ranks_per_node = *out.num_ranks / *nodes;
  return out;
}

/// Half a world would silently be a world of one rank.
void refuse_half(const claim& told);

void check_agreement(std::string_view a, std::string_view b, const std::optional<std::uint64_t>& x,
                     const std::optional<std::uint64_t>& y);

/// Two launchers may both be at work (torchrun for each node inside of mpirun); where both tell the
/// same number of ranks they have to agree on this one's.
void check_agreement(const claim& a, const claim& b);

/// What the launcher that started this process says.
template <class Getenv>
[[nodiscard]] claim claim_of_environment(const Getenv& lookup) {
  claim chosen;
  for (const launcher& from : launchers) {
    // Slurm's rank is that of the job's step, which started the other launcher, not this process.
    if (from.name == "Slurm" && chosen.complete()) break;
    const claim next = ask(lookup, from);
    if (!chosen.complete()) refuse_half(next);
    if (!next.complete()) continue;
    if (chosen.complete())
      check_agreement(chosen, next);
    else
      chosen = next;
  }
  return chosen;
}

}  // namespace detail

/// The world of this process. `lookup` is called with a name and answers its value or null, as
/// `std::getenv` does. Options come first, then torchrun's names (RANK, WORLD_SIZE, LOCAL_RANK,
/// LOCAL_WORLD_SIZE), Open MPI's, MPICH's and Slurm's; with none of them it is one rank on one
/// node. A number of ranks without a number for each node means one on each for torchrun, as for
/// Python, and is an error for the others.
///
/// Throws `errc::invalid_argument` for values that are no numbers, a rank without the number of
/// ranks or the other way round, launchers that contradict each other, a rank outside the world,
/// and nodes that are not all of the same size.
template <class Getenv>
  requires std::convertible_to<std::invoke_result_t<const Getenv&, const char*>, const char*>
[[nodiscard]] world from_environment(const Getenv& lookup, const world_options& options = {}) {
  using detail::refuse;
  detail::claim told;
  if (!(options.rank && options.num_ranks && options.ranks_per_node))
    told = detail::claim_of_environment(lookup);
  const std::uint64_t ranks = options.num_ranks.value_or(told.num_ranks.value_or(1));
  const std::uint64_t rank = options.rank.value_or(told.rank.value_or(0));
  const bool unclear = told.complete() && *told.num_ranks > 1 && told.from.name != "torchrun";
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

/// A text that all ranks of one launch of a job have in common, and no other launch, restarts too:
/// of Slurm's job and step, torchrun's run and PMIx's namespace, with how often they were
/// restarted. Empty where the environment has none of them. torchrun without `--rdzv-id` names all
/// its runs "none", which tells nothing.
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
