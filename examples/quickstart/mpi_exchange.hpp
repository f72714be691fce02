#pragma once

/// Ranks that mpirun or srun started, which hand each other their groups by MPI.

#include "training.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#define OMPI_SKIP_MPICXX  // the C++ bindings are gone from MPI itself
#define MPICH_SKIP_MPICXX
#include <mpi.h>

namespace quickstart {

/// One for the life of the process. An exception that leaves a rank ends all of them, since the
/// others would wait for it for ever.
class mpi_exchange {
 public:
  /// Whether a launcher started this process as one of several.
  [[nodiscard]] static bool launched() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
      if (std::getenv(name) != nullptr) return true;
    }
    return false;
  }

  mpi_exchange() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  mpi_exchange(const mpi_exchange&) = delete;
  mpi_exchange& operator=(const mpi_exchange&) = delete;
  ~mpi_exchange() { MPI_Finalize(); }

  [[noreturn]] static void abort() {
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
  }

  [[nodiscard]] std::size_t rank() const { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(ranks_); }

  template <class T>
  void share(std::span<T> values) {
    const std::size_t block = values.size() / groups;
    for (std::size_t group = 0; group < groups; ++group) {
      MPI_Bcast(values.data() + group * block, static_cast<int>(block * sizeof(T)), MPI_BYTE,
                static_cast<int>(group) % ranks_, MPI_COMM_WORLD);
    }
  }

  void broadcast(std::string& text) {
    std::uint64_t size = text.size();
    MPI_Bcast(&size, sizeof size, MPI_BYTE, 0, MPI_COMM_WORLD);
    text.resize(size);
    MPI_Bcast(text.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0, ranks_ = 1;
};

}  // namespace quickstart
