// mdstream checkpoint: the checkpoints of a training run, seen from a shell.

#include <mdstream/async/runtime.hpp>
#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/checkpoint/clean.hpp>
#include <mdstream/checkpoint/export.hpp>
#include <mdstream/checkpoint/import.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/full.hpp>

#include "command.hpp"
#include "copy_plan.hpp"
#include "progress_bar.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace {

struct checkpoint_arguments {
  std::string url, name, who = "mdstream", out, run_url, cast;
  std::vector<std::string> renames, mirrors;
  bool remove = false, dry_run = false, all = false;
  std::uint64_t last = 0, every = 0, grace = 600, file_mb = 1024, step = 0;
  unsigned jobs = 8;

  [[nodiscard]] mds::opened_store run() const { return mds::full_store::open(url); }
  [[nodiscard]] mds::checkpoint_options options() const {
    mds::checkpoint_options reached;
    for (const std::string& each : mirrors) reached.mirrors.push_back(mds::full_store::open(each));
    return reached;
  }
  [[nodiscard]] mds::checkpoint open() const {
    return mds::checkpoint::open(run(), name, options());
  }
};

std::optional<mds::tensor_type> cast_of(const checkpoint_arguments& args) {
  if (args.cast.empty()) return std::nullopt;
  if (const auto type = mds::find_tensor_type(args.cast)) return type;
  throw usage_error("--cast takes F16, BF16, F32 or F64, not \"" + args.cast + '"');
}

// Of the prefixes that fit a name the longest is replaced.
std::function<std::string(const std::string&)> rename_of(const checkpoint_arguments& args) {
  std::vector<std::pair<std::string, std::string>> prefixes;
  for (const std::string& each : args.renames) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos)
      throw usage_error("--rename takes FROM=TO, not \"" + each + '"');
    prefixes.emplace_back(each.substr(0, equals), each.substr(equals + 1));
  }
  return [prefixes = std::move(prefixes)](const std::string& name) {
    const std::pair<std::string, std::string>* longest = nullptr;
    for (const auto& each : prefixes)
      if (name.starts_with(each.first) &&
          (longest == nullptr || each.first.size() > longest->first.size()))
        longest = &each;
    return longest == nullptr ? name : longest->second + name.substr(longest->first.size());
  };
}

// A directory, or the file or index that a URL names.
mds::checkpoint plain_files_at(const std::string& url) {
  const std::string path = url.substr(0, url.find('?'));
  if (!path.ends_with(".safetensors") && !path.ends_with(".safetensors.index.json"))
    return mds::checkpoint::open_files(mds::full_store::open(url));
  const object_place place = parent_and_name(url);
  return mds::checkpoint::open_files(mds::full_store::open(place.store), place.key);
}

json metadata_of(const std::vector<std::pair<std::string, std::string>>& from) {
  json out = json::object();
  for (const auto& [key, value] : from) out[key] = value;
  return out;
}

std::function<std::string(double)> bytes_shown(const char* what,
                                               const std::atomic<std::uint64_t>& bytes,
                                               std::uint64_t of) {
  return [what, &bytes, of](double) {
    return std::string(what) + ' ' + binary_size(static_cast<double>(bytes.load())) + " of " +
           binary_size(static_cast<double>(of));
  };
}

void list_checkpoints(const checkpoint_arguments& args) {
  for (const mds::checkpoint_info& each : mds::checkpoint::list(args.run(), args.options()))
    print({{"name", each.name},
           {"step", each.step},
           {"ranks", each.ranks},
           {"bytes", each.bytes},
           {"parent", each.parent.empty() ? json() : json(each.parent)},
           {"on_line", each.on_line},
           {"pinned", each.pinned},
           {"damaged", each.damaged},
           {"metadata", metadata_of(each.metadata)}});
}

void show_checkpoint(const checkpoint_arguments& args) {
  const mds::checkpoint shown = args.open();
  json tensors = json::array();
  for (const mds::tensor_info& each : shown.tensors())
    tensors.push_back(
        {{"name", each.name}, {"type", std::string(to_string(each.type))}, {"shape", each.shape}});
  print({{"name", shown.name()},
         {"step", shown.step()},
         {"ranks", shown.ranks()},
         {"bytes", shown.bytes()},
         {"metadata", metadata_of(shown.metadata())},
         {"loader_state", shown.loader_state()},
         {"tensors", std::move(tensors)}});
}

void verify_checkpoints(const checkpoint_arguments& args) {
  const mds::opened_store run = args.run();
  std::vector<std::string> names{args.name};
  if (args.all) {
    names.clear();
    for (mds::checkpoint_info& each : mds::checkpoint::list(run, args.options()))
      names.push_back(std::move(each.name));
  }
  std::size_t faults = 0;
  for (const std::string& name : names) {
    json damaged = json::array();
    std::string whole = name;
    std::uint64_t bytes = 0;
    try {
      const auto checked = mds::checkpoint::open(run, name, args.options());
      whole = checked.name();
      bytes = checked.bytes();
      std::atomic<std::uint64_t> done{0};
      const progress_bar bar(bytes_shown("checked", done, bytes));
      for (const mds::checkpoint_damage& each :
           checked.verify(args.jobs, [&](std::uint64_t more) { done += more; }))
        damaged.push_back(
            {{"file", each.file}, {"begin", each.begin}, {"end", each.end}, {"what", each.what}});
    } catch (const mds::error& e) {
      if (e.code() != mds::errc::corrupt || name.empty()) throw;
      damaged.push_back({{"what", one_line(e.what())}});
    }
    faults += damaged.size();
    print({{"name", whole}, {"bytes", bytes}, {"damaged", std::move(damaged)}});
  }
  if (faults > 0)
    throw mds::error(
        mds::errc::corrupt,
        {.what = std::to_string(faults) + (faults == 1 ? " fault" : " faults"), .url = args.url});
}

void pin_or_unpin(const checkpoint_arguments& args) {
  if (args.name.empty()) throw usage_error("pin needs --name: which checkpoint is kept");
  const mds::opened_store run = args.run();
  const std::string name = args.open().name();
  if (args.remove)
    mds::unpin_checkpoint(run, name, args.who, args.options());
  else
    mds::pin_checkpoint(run, name, args.who, args.options());
  print({{"name", name}, {"pinned", !args.remove}, {"who", args.who}});
}

void export_files(const checkpoint_arguments& args) {
  const mds::checkpoint from = args.open();
  std::atomic<std::uint64_t> done{0};
  std::vector<std::string> files;
  {
    const progress_bar bar(bytes_shown("written", done, from.bytes()));
    mds::export_options options;
    options.file_bytes.value = args.file_mb << 20;
    options.requests = args.jobs;
    options.rename = rename_of(args);
    options.cast = cast_of(args);
    options.progress = [&](std::uint64_t more) { done += more; };
    files = mds::export_checkpoint(from, mds::full_store::open(args.out), options);
  }
  print({{"name", from.name()}, {"files", files}, {"bytes", done.load()}});
}

void import_files(const checkpoint_arguments& args) {
  const mds::checkpoint from = plain_files_at(args.url);
  std::atomic<std::uint64_t> done{0};
  std::string name;
  {
    const progress_bar bar(bytes_shown("stored", done, from.bytes()));
    mds::import_options options;
    options.step = args.step;
    options.file_bytes.value = args.file_mb << 20;
    options.requests = args.jobs;
    options.rename = rename_of(args);
    options.cast = cast_of(args);
    options.progress = [&](std::uint64_t more) { done += more; };
    name = mds::import_checkpoint(from, mds::full_store::open(args.run_url), options);
  }
  print({{"name", name}, {"tensors", from.tensors().size()}, {"bytes", done.load()}});
}

void clean_up_run(const checkpoint_arguments& args) {
  const mds::keep_rules keep{
      .last = args.last, .every = args.every, .grace = std::chrono::seconds(args.grace)};
  const mds::cleaned_run found = mds::clean_run(args.run(), keep, args.dry_run, args.options());
  print({{"checkpoints", found.checkpoints},
         {"leftovers", found.leftovers},
         {"removed", !args.dry_run}});
}

using checkpoint_action = void (*)(const checkpoint_arguments&);

}  // namespace

void add_checkpoint(CLI::App& program) {
  CLI::App* const all = program.add_subcommand(
      "checkpoint",
      "The checkpoints of a training run: list, show, verify, pin, export, import, clean");
  all->require_subcommand(1);
  const auto add = [&](const char* name, const char* about, checkpoint_action does,
                       const char* url = "Where the run saves: a local path or a remote URL") {
    auto args = std::make_shared<checkpoint_arguments>();
    CLI::App* const command = all->add_subcommand(name, about);
    command->add_option("url", args->url, url)->required()->type_name("URL");
    command->callback([args, does] { does(*args); });
    return std::pair(command, args);
  };
  const auto add_to_run = [&](const char* name, const char* about, checkpoint_action does) {
    const auto added = add(name, about, does);
    added.first
        ->add_option("--mirror", added.second->mirrors,
                     "Another store of the same run; may be repeated")
        ->allow_extra_args(false)
        ->type_name("URL");
    return added;
  };
  const auto add_name = [](CLI::App* command, checkpoint_arguments& args) {
    command
        ->add_option("--name", args.name,
                     "Which checkpoint: its name, or a step; the newest complete one by default")
        ->type_name("NAME");
  };
  const auto add_jobs = [](CLI::App* command, checkpoint_arguments& args) {
    command->add_option("--jobs", args.jobs, "Requests at a time")->capture_default_str();
  };
  const auto add_changes = [](CLI::App* command, checkpoint_arguments& args) {
    command
        ->add_option("--rename", args.renames,
                     "Names that begin with FROM begin with TO instead; may be repeated")
        ->allow_extra_args(false)
        ->type_name("FROM=TO");
    command
        ->add_option("--cast", args.cast,
                     "Type that floating-point tensors are converted to: F16, BF16, F32 or F64")
        ->type_name("TYPE");
    command->add_option("--file-mb", args.file_mb, "MiB of a file, about")->capture_default_str();
  };
  (void)add_to_run("list", "List the checkpoints of a run, one line of JSON each",
                   &list_checkpoints);
  {
    const auto [command, args] =
        add_to_run("show", "What a checkpoint holds, as JSON", &show_checkpoint);
    add_name(command, *args);
  }
  {
    const auto [command, args] =
        add_to_run("verify", "Read all files of a checkpoint and compare their checksums",
                   &verify_checkpoints);
    add_name(command, *args);
    add_jobs(command, *args);
    command->add_flag("--all", args->all, "All checkpoints of the run");
  }
  {
    const auto [command, args] =
        add_to_run("pin", "Keep a checkpoint, whatever the rules are", &pin_or_unpin);
    add_name(command, *args);
    command->add_option("--who", args->who, "Name of the pin")->capture_default_str();
    command->add_flag("--remove", args->remove, "Remove the pin");
  }
  {
    const auto [command, args] = add_to_run(
        "export", "Write plain safetensors files, as models on the Hub have them", &export_files);
    add_name(command, *args);
    add_jobs(command, *args);
    command->add_option("--out", args->out, "Where they go: a directory or a URL")
        ->required()
        ->type_name("URL");
    add_changes(command, *args);
  }
  {
    const auto [command, args] =
        add("import", "Make the first checkpoint of a run of a model in safetensors files",
            &import_files,
            "The model: a directory, a *.safetensors file or an index, as hf://org/name");
    args->file_mb = 512;
    command->add_option("run", args->run_url, "Where the run saves: a local path or a remote URL")
        ->required()
        ->type_name("RUN");
    command->add_option("--step", args->step, "Step of the checkpoint")->capture_default_str();
    add_jobs(command, *args);
    add_changes(command, *args);
  }
  {
    const auto [command, args] =
        add_to_run("clean", "Remove checkpoints that are not kept, and what dead jobs left behind",
                   &clean_up_run);
    command->add_option("--last", args->last, "Keep this many of the newest; 0: all")
        ->capture_default_str();
    command->add_option("--every", args->every, "Keep those whose step is a multiple of this");
    command
        ->add_option("--grace", args->grace,
                     "Seconds from the removal of a checkpoint to that of its data")
        ->capture_default_str();
    command->add_flag("--dry-run", args->dry_run,
                      "Print what would be removed, and remove nothing");
  }
}

}  // namespace cli
