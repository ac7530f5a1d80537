// A relocatable ELF file of five sections: nothing, .rodata, .symtab, .strtab (also the names of
// sections) and .note.GNU-stack. Layout: header, constants, symbols, strings, section headers.

#include "src/compiler/constant_object.h"

#include <elf.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "src/base/math.h"
#include "src/compiler/plan.h"

namespace tilewright {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// A file that remembers the first failure.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {}
  void Write(const void* data, std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    good_ = good_ && file_ != nullptr && std::fwrite(data, 1, size, file_.get()) == size;
    position_ += bytes;
  }
  void PadTo(std::int64_t position) {
    constexpr std::array<char, 4096> kZeros{};
    while (position_ < position) {
      Write(kZeros.data(), std::min<std::int64_t>(position - position_, kZeros.size()));
    }
  }
  Status Finish() {
    const bool closed = file_ != nullptr && std::fclose(file_.release()) == 0;
    if (good_ && closed) return Status();
    return Unavailable("writing " + path_ + ": " + std::strerror(errno));
  }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::int64_t position_ = 0;
  bool good_ = true;
};

/// Architecture of the machine's ELF files, from the target's triple or this machine's.
Result<Elf64_Half> MachineOf(const Target& target) {
  const std::string triple = target.Option("mtriple");
  if (triple.starts_with("x86_64")) return static_cast<Elf64_Half>(EM_X86_64);
  if (triple.starts_with("aarch64")) return static_cast<Elf64_Half>(EM_AARCH64);
  if (!triple.empty()) return Unsupported("constants for the triple " + triple);
#if defined(__x86_64__)
  return static_cast<Elf64_Half>(EM_X86_64);
#elif defined(__aarch64__)
  return static_cast<Elf64_Half>(EM_AARCH64);
#else
  return Unsupported("constants for this architecture");
#endif
}

Elf64_Shdr Section(Elf64_Word name, Elf64_Word type, Elf64_Xword flags, std::int64_t offset,
                   std::int64_t size, std::int64_t alignment) {
  Elf64_Shdr section = {};
  section.sh_name = name;
  section.sh_type = type;
  section.sh_flags = flags;
  section.sh_offset = static_cast<Elf64_Off>(offset);
  section.sh_size = static_cast<Elf64_Xword>(size);
  section.sh_addralign = static_cast<Elf64_Xword>(alignment);
  return section;
}

Elf64_Ehdr Header(Elf64_Half machine, std::int64_t section_headers, Elf64_Half sections,
                  Elf64_Half string_section) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_shoff = static_cast<Elf64_Off>(section_headers);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = sections;
  header.e_shstrndx = string_section;
  return header;
}

}  // namespace

Status WriteConstantObject(const std::vector<Tensor>& constants, std::int64_t total_bytes,
                           const Target& target, const std::string& path) {
  auto machine = MachineOf(target);
  TW_RETURN_IF_ERROR(machine);
  const std::string symbol = kConstantsSymbol;
  const std::string strings = std::string(1, '\0') + symbol + '\0' + ".rodata" + '\0' + ".symtab" +
                              '\0' + ".strtab" + '\0' + ".note.GNU-stack" + '\0';
  const auto name = [&](const char* text) { return static_cast<Elf64_Word>(strings.find(text)); };
  const std::int64_t begin = RoundUp(sizeof(Elf64_Ehdr), kTensorAlignment);
  const std::int64_t size = std::max<std::int64_t>(total_bytes, kTensorAlignment);
  const std::int64_t symbols = RoundUp(begin + size, 8);
  std::array<Elf64_Sym, 2> table = {};
  table[1].st_name = name(kConstantsSymbol);
  table[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  table[1].st_other = STV_HIDDEN;
  table[1].st_shndx = 1;
  table[1].st_size = static_cast<Elf64_Xword>(size);
  const std::int64_t string_begin = symbols + static_cast<std::int64_t>(sizeof table);
  const auto string_size = static_cast<std::int64_t>(strings.size());
  const std::int64_t headers = RoundUp(string_begin + string_size, 8);
  std::array<Elf64_Shdr, 5> sections = {
      Elf64_Shdr{},
      Section(name(".rodata"), SHT_PROGBITS, SHF_ALLOC, begin, size, kTensorAlignment),
      Section(name(".symtab"), SHT_SYMTAB, 0, symbols, sizeof table, 8),
      Section(name(".strtab"), SHT_STRTAB, 0, string_begin, string_size, 1),
      Section(name(".note.GNU-stack"), SHT_PROGBITS, 0, headers, 0, 1)};
  sections[2].sh_link = 3;  // its strings
  sections[2].sh_info = 1;  // first symbol that is not local
  sections[2].sh_entsize = sizeof(Elf64_Sym);

  Writer writer(path);
  const Elf64_Ehdr header = Header(*machine, headers, sections.size(), 3);
  writer.Write(&header, sizeof header);
  std::int64_t next = begin;
  for (const Tensor& constant : constants) {
    writer.PadTo(next);
    writer.Write(constant.data(), constant.bytes());
    next = begin + RoundUp(next - begin + constant.bytes(), kTensorAlignment);
  }
  writer.PadTo(symbols);
  writer.Write(table.data(), sizeof table);
  writer.Write(strings.data(), string_size);
  writer.PadTo(headers);
  writer.Write(sections.data(), sizeof sections);
  return writer.Finish();
}

}  // namespace tilewright
