// A copy of the twin's libraries that lacks functions, for tests of programs that do without them.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace ascend_test {

/// The names are made local in the table of dynamic symbols: no look-up finds them any more. Those
/// that the library has are taken off the set.
inline bool hide_symbols(std::vector<char>& library, std::set<std::string>& names) {
  if (library.size() < sizeof(Elf64_Ehdr) || std::memcmp(library.data(), ELFMAG, SELFMAG) != 0)
    return false;
  Elf64_Ehdr header;
  std::memcpy(&header, library.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (header.e_shoff + sections.size() * sizeof(Elf64_Shdr) > library.size()) return false;
  std::memcpy(sections.data(), library.data() + header.e_shoff,
              sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const char* const strings = library.data() + sections[section.sh_link].sh_offset;
    for (std::size_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      char* const place = library.data() + section.sh_offset + i * sizeof(Elf64_Sym);
      Elf64_Sym symbol;
      std::memcpy(&symbol, place, sizeof symbol);
      if (symbol.st_shndx == SHN_UNDEF || names.erase(strings + symbol.st_name) == 0) continue;
      symbol.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol.st_info));
      std::memcpy(place, &symbol, sizeof symbol);
    }
  }
  return true;
}

/// Copies a layout's folder ("twins/ascend") without these functions; `to` is made. The copy works
/// on the same core, which stays where it is. False where a function is in no library of the
/// folder, or a file cannot be written.
inline bool ascend_twin_copy_without(const std::filesystem::path& from,
                                     const std::filesystem::path& to,
                                     const std::vector<std::string>& functions) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::create_directories(to, failed);
  std::set<std::string> left(functions.begin(), functions.end());
  for (const fs::directory_entry& entry : fs::directory_iterator(from, failed)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::vector<char> library{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!hide_symbols(library, left)) continue;
    std::ofstream out(to / entry.path().filename(), std::ios::binary);
    out.write(library.data(), static_cast<std::streamsize>(library.size()));
    if (!out) return false;
  }
  const char* const core = "libascend_twin_core.so";
  fs::remove(to / core, failed);
  fs::create_symlink(fs::absolute(from).parent_path() / "ascend-core" / core, to / core, failed);
  return !failed && left.empty();
}

}  // namespace ascend_test
