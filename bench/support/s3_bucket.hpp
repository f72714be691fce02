#pragma once

// Programs and buckets for benchmarks of uploads, from the environment that bench/run.sh makes.

#include "support/program.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace bench {

/// A program of MDSTREAM_BENCH_TOOLS; empty where there is none.
inline std::string tool(const std::string& name) {
  const char* const directory = std::getenv("MDSTREAM_BENCH_TOOLS");
  const std::string path = std::string(directory == nullptr ? "" : directory) + '/' + name;
  return directory != nullptr && std::filesystem::exists(path) ? path : "";
}

/// An empty bucket of the server at S3_ENDPOINT_URL. The server lets go of what lay in it at once,
/// which it does not of objects.
inline void make_anew(const std::string& bucket) {
  const auto ask = [url = std::getenv("S3_ENDPOINT_URL") + ('/' + bucket)](
                       const std::string& method, const std::string& on_failure) {
    const std::string keys = std::getenv("AWS_ACCESS_KEY_ID") +
                             (':' + std::string(std::getenv("AWS_SECRET_ACCESS_KEY")));
    run_program({"curl", "-s", on_failure, "-o", "/dev/null", "-X", method, "--aws-sigv4",
                 "aws:amz:us-east-1:s3", "-u", keys, "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
                 url});
  };
  ask("DELETE", "-S");  // there may be none
  ask("PUT", "-f");
}

}  // namespace bench
