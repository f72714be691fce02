#include "documents.hpp"

#include <mdstream/version.hpp>

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

namespace {

std::vector<const CLI::App*> subcommands(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

// A command, or one of a group of commands, by its words.
struct named_command {
  std::string name;
  const CLI::App* app;
};

std::vector<named_command> commands_of(const CLI::App& program) {
  std::vector<named_command> out;
  for (const CLI::App* command : subcommands(program)) {
    const auto group = subcommands(*command);
    if (group.empty()) out.push_back({command->get_name(), command});
    for (const CLI::App* each : group)
      out.push_back({command->get_name() + ' ' + each->get_name(), each});
  }
  return out;
}

void append(std::string& out, std::initializer_list<std::string_view> pieces) {
  for (const std::string_view piece : pieces) out += piece;
}

// Backslashes and hyphens mean something else to roff, points and quotes at the start of a line
// too.
std::string roff(const std::string& text) {
  std::string out;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string names_of(const CLI::Option& option) {
  std::string names;
  for (const char c : option.get_name(false, true)) {  // "-h,--help"
    names += c;
    if (c == ',') names += ' ';
  }
  const bool takes_value = option.get_expected_max() > 0;
  const std::string type = option.get_type_name();
  return takes_value && !type.empty() ? names + " " + type : names;
}

void describe_options(std::string& out, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    append(out, {".TP\n.B ", roff(names_of(*option)), "\n", roff(option->get_description())});
    if (const std::string fallback = option->get_default_str(); !fallback.empty()) {
      append(out, {" [", roff(fallback), "]"});
    }
    out += '\n';
  }
}

}  // namespace

std::string man_page(const CLI::App& program) {
  const auto& v = mdstream::version;
  std::string out;
  append(out, {".TH MDSTREAM 1 \"\" \"mdstream ", std::to_string(v.major), ".",
               std::to_string(v.minor), ".", std::to_string(v.patch), "\"\n.SH NAME\nmdstream \\- ",
               roff(program.get_description()), "\n.SH SYNOPSIS\n"});
  for (const auto& [name, command] : commands_of(program)) {
    append(out, {".B mdstream ", roff(name), "\n[options]"});
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) append(out, {" ", option->get_type_name()});
    }
    out += "\n.br\n";
  }
  for (const auto& [name, command] : commands_of(program)) {
    append(out, {".SH \"mdstream ", roff(name), "\"\n", roff(command->get_description()), ".\n"});
    describe_options(out, *command);
  }
  out +=
      ".SH \"EXIT STATUS\"\n"
      "0 done, 1 the data or the store is at fault, 2 the command line is at fault, 130 and 143 "
      "stopped by SIGINT or SIGTERM: a copy goes on when it is started again.\n"
      ".SH ENVIRONMENT\n"
      "Credentials, endpoints, regions, proxies and certificates come from the variables that the "
      "services' own tools read: AWS_PROFILE, AWS_REGION, S3_ENDPOINT_URL, "
      "GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME, HF_TOKEN, https_proxy and so "
      "on; docs/stores/ lists them. The world of mdstream stream is that of RANK, WORLD_SIZE and "
      "LOCAL_WORLD_SIZE, or of MPI or Slurm. Large copies from store to store go through a file "
      "without a name in TMPDIR [/var/tmp].\n"
      ".SH EXAMPLES\n.nf\n"
      "mdstream inspect s3://bucket/c4/train\n"
      "mdstream cat \\-\\-limit 3 s3://bucket/c4/train\n"
      "mdstream copy s3://bucket/c4 /nvme/c4 && mdstream verify /nvme/c4/train\n"
      "mdstream write \\-\\-out /data/notes \\-\\-column text=str < notes.jsonl\n"
      "mdstream merge\\-index /data/parts\n"
      "mdstream checkpoint list s3://bucket/7b\n"
      ".fi\n";
  return out;
}

std::string bash_completion(const CLI::App& program) {
  std::string commands, cases, out;
  for (const CLI::App* command : subcommands(program)) {
    append(commands, {commands.empty() ? "" : " ", command->get_name()});
    append(cases, {"    ", command->get_name(), ") words=\""});
    std::set<std::string> words;
    const auto add_options = [&words](const CLI::App& of) {
      for (const CLI::Option* option : of.get_options())
        for (const std::string& name : option->get_lnames()) words.insert("--" + name);
    };
    add_options(*command);
    for (const CLI::App* each : subcommands(*command)) {
      append(cases, {each->get_name(), " "});
      add_options(*each);
    }
    for (const std::string& word : words) append(cases, {word, " "});
    cases += "\" ;;\n";
  }
  append(out,
         {"_mdstream() {\n"
          "  local current=${COMP_WORDS[COMP_CWORD]} words\n"
          "  case ${COMP_WORDS[1]} in\n",
          cases, "    *) words=\"", commands,
          " --help --version\" ;;\n"
          "  esac\n"
          "  if [ \"$COMP_CWORD\" -gt 1 ] && [ \"${current#-}\" = \"$current\" ]; then\n"
          "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\"\n"
          "      [ \"$COMP_CWORD\" = 2 ] && compgen -W \"$words\" -- \"$current\" | grep -v '^-')\n"
          "  else\n"
          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "  fi\n"
          "}\n"
          "complete -o filenames -F _mdstream mdstream\n"});
  return out;
}

}  // namespace cli
