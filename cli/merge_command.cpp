// mdstream merge-index: one index over datasets that lie side by side.

#include <mdstream/core/error.hpp>
#include <mdstream/full.hpp>
#include <mdstream/store/detail/patient_store.hpp>
#include <mdstream/writer/merge_index.hpp>

#include "command.hpp"
#include "patience.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cli {

namespace {

struct merge_arguments {
  std::string out;
  std::vector<std::string> urls;
  store_patience patience;
};

std::size_t merge(const merge_arguments& args) {
  const auto open = [&](const std::string& url) {
    return mds::detail::patient_store(mds::any_store<>(mds::full_store::open(url)),
                                      args.patience.requests(), args.patience.budget());
  };
  if (!args.out.empty()) return mds::merge_index(args.urls, open(args.out), open);
  if (args.urls.size() != 1) {
    throw usage_error("merge-index takes one directory, or --out OUT and the datasets in it");
  }
  return mds::merge_index(open(args.urls.front()));
}

}  // namespace

void add_merge_index(CLI::App& program) {
  auto args = std::make_shared<merge_arguments>();
  CLI::App* const command = program.add_subcommand(
      "merge-index", "Merge the indexes of datasets in a directory into one index there");
  command->add_option("--out", args->out, "Where the index goes; the datasets are named after it")
      ->type_name("URL");
  command
      ->add_option("urls", args->urls,
                   "The directory, whose datasets are all merged; with --out, the datasets")
      ->required()
      ->type_name("URL");
  add_patience(*command, args->patience);
  command->callback([args] {
    const std::size_t merged = merge(*args);
    if (merged == 0) {
      throw mds::error(mds::errc::not_found,
                       {.what = "nothing to merge: no directory in it has an index.json",
                        .url = args->urls.front()});
    }
    print({{"merged", merged}});
  });
}

}  // namespace cli
