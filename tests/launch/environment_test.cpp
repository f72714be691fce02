#include <mdstream/launch/environment.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

#include <map>
#include <string>

namespace environment_test {

using mdstream::errc;
using mdstream::world;
using mdstream::launch::from_environment;
using mdstream::launch::world_options;
using variables = std::map<std::string, std::string>;

world world_of(const variables& env, const world_options& options = {}) {
  return from_environment(
      [&env](const char* name) -> const char* {
        const auto found = env.find(name);
        return found == env.end() ? nullptr : found->second.c_str();
      },
      options);
}

void refuse(const variables& env, std::initializer_list<std::string_view> pieces,
            const world_options& options = {}) {
  support::expect_error([&] { static_cast<void>(world_of(env, options)); }, errc::invalid_argument,
                        pieces);
}

variables with(variables env, std::string name, std::string value) {
  env.insert_or_assign(std::move(name), std::move(value));
  return env;
}

const world rank_5_of_8{.nodes = 2, .ranks_per_node = 4, .workers_per_rank = 1, .rank = 5};

const variables torchrun{
    {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}};

TEST_CASE("an empty environment is one rank", "[launch]") { CHECK(world_of({}) == world{}); }

TEST_CASE("each launcher tells the same world in its own words", "[launch]") {
  CHECK(world_of(torchrun) == rank_5_of_8);
  CHECK(world_of({{"OMPI_COMM_WORLD_RANK", "5"},
                  {"OMPI_COMM_WORLD_SIZE", "8"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}) == rank_5_of_8);
  CHECK(world_of({{"PMI_RANK", "5"},
                  {"PMI_SIZE", "8"},
                  {"MPI_LOCALRANKID", "1"},
                  {"MPI_LOCALNRANKS", "4"}}) == rank_5_of_8);
  CHECK(world_of({{"SLURM_PROCID", "5"},
                  {"SLURM_NTASKS", "8"},
                  {"SLURM_LOCALID", "1"},
                  {"SLURM_NTASKS_PER_NODE", "4"}}) == rank_5_of_8);
  CHECK(world_of({{"SLURM_PROCID", "5"},
                  {"SLURM_NTASKS", "8"},
                  {"SLURM_LOCALID", "1"},
                  {"SLURM_NNODES", "2"}}) == rank_5_of_8);
}

TEST_CASE("pods and nodes of clouds have one rank each", "[launch]") {
  const world rank_3_of_4{.nodes = 4, .rank = 3};
  CHECK(world_of({{"JOB_COMPLETION_INDEX", "3"}, {"WORLD_SIZE", "4"}}) == rank_3_of_4);
  CHECK(world_of({{"AWS_BATCH_JOB_NODE_INDEX", "3"}, {"AWS_BATCH_JOB_NUM_NODES", "4"}}) ==
        rank_3_of_4);
  // What runs inside of a pod has ranks of its own.
  variables env = torchrun;
  env = with(env, "JOB_COMPLETION_INDEX", "1");
  CHECK(world_of(env) == rank_5_of_8);
  // A lone pod; of several, all but the first would be worlds of one.
  CHECK(world_of({{"JOB_COMPLETION_INDEX", "0"}}) == world{});
  refuse({{"JOB_COMPLETION_INDEX", "1"}}, {"JOB_COMPLETION_INDEX is set, but not WORLD_SIZE"});
  refuse({{"AWS_BATCH_JOB_NODE_INDEX", "1"}}, {"AWS_BATCH_JOB_NUM_NODES"});
}

TEST_CASE("a step of a Slurm job counts, and not what the job asked for", "[launch]") {
  const variables step{{"SLURM_PROCID", "1"},  {"SLURM_NTASKS", "2"},
                       {"SLURM_LOCALID", "1"}, {"SLURM_NTASKS_PER_NODE", "3"},
                       {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_NODES", "1"},
                       {"SLURM_NNODES", "2"}};
  CHECK(world_of(step) == world{.nodes = 1, .ranks_per_node = 2, .rank = 1});
  refuse(with(step, "SLURM_STEP_NUM_NODES", "4"), {"2 ranks", "3 ranks each"});
  // The batch script has the number of the first task and is none.
  const variables script{{"SLURM_PROCID", "0"},
                         {"SLURM_LOCALID", "0"},
                         {"SLURM_NTASKS", "6"},
                         {"SLURM_NTASKS_PER_NODE", "3"},
                         {"SLURM_NNODES", "2"}};
  CHECK(world_of(script) == world{});
  CHECK(world_of(with(script, "SLURM_STEP_ID", "0")) == world{.nodes = 2, .ranks_per_node = 3});
}

TEST_CASE("Slurm says how many ranks a node has where MPICH's protocol does not", "[launch]") {
  const variables pmi2{{"PMI_RANK", "1"},      {"PMI_SIZE", "2"},
                       {"SLURM_PROCID", "1"},  {"SLURM_NTASKS", "2"},
                       {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_NODES", "1"}};
  CHECK(world_of(pmi2) == world{.nodes = 1, .ranks_per_node = 2, .rank = 1});
  // mpiexec inside of a step of one task for each node.
  refuse(with(pmi2, "SLURM_PROCID", "0"), {"MPICH", "MPI_LOCALNRANKS"});
}

TEST_CASE("PMIx names no number of ranks in the environment", "[launch]") {
  refuse({{"PMIX_RANK", "1"}}, {"PMIX_RANK is set, but nothing says how many ranks there are"});
  CHECK(world_of({{"PMIX_RANK", "0"}}) == world{});
  variables env = torchrun;
  CHECK(world_of(with(env, "PMIX_RANK", "2")) == rank_5_of_8);
}

TEST_CASE("torchrun's names without a local size mean one rank a node, as for Python", "[launch]") {
  CHECK(world_of({{"RANK", "1"}, {"WORLD_SIZE", "2"}}) == world{.nodes = 2, .rank = 1});
}

TEST_CASE("what the program says comes first", "[launch]") {
  CHECK(
      world_of(torchrun, {.rank = 0, .num_ranks = 2, .ranks_per_node = 2, .workers_per_rank = 3}) ==
      world{.nodes = 1, .ranks_per_node = 2, .workers_per_rank = 3, .rank = 0});
  CHECK(world_of(torchrun, {.ranks_per_node = 8}) ==
        world{.nodes = 1, .ranks_per_node = 8, .rank = 5});
  CHECK(world_of({}, {.num_ranks = 4}) == world{.nodes = 4});
}

TEST_CASE("a launcher inside of a Slurm job is the one that counts", "[launch]") {
  variables env = torchrun;
  env.insert({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "0"}});
  CHECK(world_of(env) == rank_5_of_8);
  env = with(env, "SLURM_NTASKS", "8");
  CHECK(world_of(env) == rank_5_of_8);
}

TEST_CASE("contradictions are errors", "[launch]") {
  variables env = torchrun;
  env.insert({{"OMPI_COMM_WORLD_RANK", "4"}, {"OMPI_COMM_WORLD_SIZE", "8"}});
  refuse(env, {"RANK=5", "OMPI_COMM_WORLD_RANK=4"});
  env = with(env, "OMPI_COMM_WORLD_SIZE", "3");
  refuse(env, {"WORLD_SIZE=8", "OMPI_COMM_WORLD_SIZE=3"});
  env = with(env, "OMPI_COMM_WORLD_SIZE", "0");
  refuse(env, {"OMPI_COMM_WORLD_SIZE=0"});
  env = torchrun;
  env = with(env, "LOCAL_RANK", "2");
  refuse(env, {"LOCAL_RANK=2", "rank 5"});
  env = torchrun;
  env = with(env, "RANK", "8");
  refuse(env, {"rank 8"});
  env = torchrun;
  env = with(env, "LOCAL_WORLD_SIZE", "3");
  refuse(env, {"8 ranks", "3 ranks"});
  env = with(env, "LOCAL_WORLD_SIZE", "0");
  refuse(env, {"LOCAL_WORLD_SIZE=0"});
}

TEST_CASE("values that are no numbers, and half a world, are errors", "[launch]") {
  refuse({{"RANK", "x"}, {"WORLD_SIZE", "8"}}, {"RANK=x"});
  refuse({{"RANK", "-1"}, {"WORLD_SIZE", "8"}}, {"RANK=-1"});
  refuse({{"RANK", "99999999999"}, {"WORLD_SIZE", "8"}}, {"RANK=99999999999"});
  refuse({{"RANK", "1"}}, {"WORLD_SIZE"});
  refuse({{"WORLD_SIZE", "8"}}, {"RANK"});
  refuse({{"OMPI_COMM_WORLD_RANK", "1"}}, {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"});
  refuse({{"OMPI_COMM_WORLD_RANK", "0"}}, {"OMPI_COMM_WORLD_SIZE"});
  refuse({{"OMPI_COMM_WORLD_SIZE", "8"}}, {"OMPI_COMM_WORLD_RANK"});
  refuse({{"PMI_RANK", "1"}}, {"PMI_SIZE"});
  refuse({{"SLURM_PROCID", "3"}}, {"SLURM_PROCID", "SLURM_NTASKS"});
  refuse({{"RANK", "0"}, {"WORLD_SIZE", "0"}}, {"WORLD_SIZE=0", "at least one"});
  refuse({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_NNODES", "0"}}, {"SLURM_NNODES=0"});
  variables mpi{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}};
  CHECK(world_of(with(mpi, "RANK", "3")) == world{});
  // A batch script, and the shell of an allocation.
  CHECK(world_of({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}}) == world{});
  CHECK(world_of({{"SLURM_NTASKS", "8"}, {"SLURM_NNODES", "2"}}) == world{});
  // Another launcher's world is whole.
  variables whole = torchrun;
  whole.insert({{"OMPI_COMM_WORLD_RANK", "5"}});
  CHECK(world_of(whole) == rank_5_of_8);
  refuse({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}}, {"MPICH", "MPI_LOCALNRANKS"});
  CHECK(world_of({{"RANK", ""}, {"WORLD_SIZE", ""}}) == world{});
}

TEST_CASE("each launch has a token of its own", "[launch]") {
  const auto token_of = [](const variables& env) {
    return mdstream::launch::token_from_environment([&](const char* name) -> const char* {
      const auto at = env.find(name);
      return at == env.end() ? nullptr : at->second.c_str();
    });
  };
  CHECK(token_of({}) == "");
  CHECK(token_of(torchrun) == "");  // its numbers are those of any launch
  CHECK(token_of({{"TORCHELASTIC_RUN_ID", "none"}, {"TORCHELASTIC_RESTART_COUNT", "1"}}) == "");
  const std::string first = token_of({{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "1"}});
  CHECK(first == "SLURM_JOB_ID=17 SLURM_STEP_ID=1");
  CHECK(token_of({{"SLURM_JOB_ID", "17"}, {"SLURM_RESTART_COUNT", "1"}}) != first);
  CHECK(token_of({{"SLURM_JOB_ID", "17"},
                  {"SLURM_STEP_ID", "1"},
                  {"TORCHELASTIC_RUN_ID", "none"},
                  {"TORCHELASTIC_RESTART_COUNT", "2"}}) == first + " TORCHELASTIC_RESTART_COUNT=2");
  CHECK(token_of({{"TORCHELASTIC_RUN_ID", "x y"}, {"TORCHELASTIC_RESTART_COUNT", "0"}}) ==
        "TORCHELASTIC_RUN_ID=x y TORCHELASTIC_RESTART_COUNT=0");
  CHECK(token_of({{"PMIX_NAMESPACE", "prterun-a-1@1"}}) == "PMIX_NAMESPACE=prterun-a-1@1");
}

}  // namespace environment_test
