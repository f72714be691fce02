#pragma once

/// How a command line names a dataset.

#include "command.hpp"
#include "dataset_files.hpp"

#include <string>

namespace cli {

struct dataset_arguments {
  std::string url, split;
  bool allow_unsafe_types = false;
  store_patience patience;

  [[nodiscard]] dataset_files open() const { return {url, split, allow_unsafe_types, patience}; }
};

/// A subcommand on one dataset. `args` has to outlive the program.
inline CLI::App* add_dataset_command(CLI::App& program, const std::string& name,
                                     const std::string& about, dataset_arguments& args) {
  CLI::App* const command = program.add_subcommand(name, about);
  command->add_option("url", args.url, "Directory of the dataset: a local path or a remote URL")
      ->required()
      ->type_name("URL");
  command->add_option("--split", args.split, "Subdirectory of it, such as train");
  command->add_flag("--allow-unsafe-types", args.allow_unsafe_types,
                    "Read datasets with pkl columns; they are never executed");
  add_patience(*command, args.patience);
  return command;
}

}  // namespace cli
