// The command line: datasets seen from a shell.

#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include "command.hpp"
#include "documents.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace cli {

void print(const json& value) {
  const std::string line = value.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size() || std::fflush(stdout) != 0) {
    throw mds::error(mds::errc::io_error, "cannot write to stdout");
  }
}

namespace {

int fail(int status, const std::string& what) {
  std::fprintf(stderr, "mdstream: error: %s\n", one_line(what).c_str());
  return status;
}

// CLI11 would take -1 for the largest number.
void refuse_negative_numbers(CLI::App& program) {
  for (CLI::App* const command : program.get_subcommands([](CLI::App*) { return true; })) {
    refuse_negative_numbers(*command);
    for (CLI::Option* const option : command->get_options()) {
      if (!option->get_type_name().starts_with("UINT")) continue;
      option->check([](const std::string& text) {
        return text.starts_with('-') ? text + " is negative" : std::string();
      });
    }
  }
}

// Documents that the build installs beside the program.
void add_documents(CLI::App& program) {
  const auto add = [&program](const std::string& option, auto document) {
    program
        .add_flag_callback(option,
                           [&program, document] {
                             std::fputs(document(program).c_str(), stdout);
                             throw CLI::Success();
                           })
        ->group("");
  };
  add("--man", man_page);
  add("--bash-completion", bash_completion);
}

// Names a misspelt command, where the parser would only miss one.
void require_command(const CLI::App& program, const std::string& word) {
  std::string names;
  for (const CLI::App* each : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == word) return;
    names += (names.empty() ? "" : ", ") + each->get_name();
  }
  throw usage_error("there is no command \"" + word + "\"; there are " + names);
}

int run(CLI::App& program, int count, char** words) {
  try {
    if (count > 1 && *words[1] != '-') require_command(program, words[1]);
    program.parse(count, words);
    return 0;
  } catch (const CLI::Success& wanted) {  // --help, --version
    return program.exit(wanted);
  } catch (const CLI::ParseError& e) {
    return fail(2, e.what());
  } catch (const usage_error& e) {
    return fail(2, e.what());
  } catch (const interrupted& e) {
    return fail(128 + e.signal, e.what());
  } catch (const std::exception& e) {
    return fail(1, e.what());
  }
}

}  // namespace

}  // namespace cli

int main(int count, char** words) {
  CLI::App program("Datasets in MDS, JSONL, CSV and TSV format, seen from a shell", "mdstream");
  const auto& v = mdstream::version;
  program.set_version_flag("--version", std::to_string(v.major) + "." + std::to_string(v.minor) +
                                            "." + std::to_string(v.patch));
  program.require_subcommand(1);
  cli::add_order(program);
  cli::add_cat(program);
  cli::add_inspect(program);
  cli::add_verify(program);
  cli::add_write(program);
  cli::add_merge_index(program);
  cli::add_index(program);
  cli::add_stream(program);
  cli::add_warm(program);
  cli::add_copy(program);
  cli::add_convert(program);
  cli::add_checkpoint(program);
  cli::add_documents(program);
  cli::refuse_negative_numbers(program);
  return cli::run(program, count, words);
}
