// main([SECTION...]): runs these sections' lines; `write DIRECTORY` makes a dataset for those that
// only read. Without arguments, names the sections.

int main(int count, char** words) {
  try {
    if (count == 1) {
      for (const auto& [name, run] : sections) std::puts(name.c_str());
    } else if (count == 3 && std::string_view(words[1]) == "write") {
      mds::writer<policies> out({.out = words[2]});
      fill(out);
    } else {
      for (int i = 1; i < count; ++i) sections.at(words[i])();
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
