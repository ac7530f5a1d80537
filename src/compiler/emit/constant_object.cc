// A relocatable ELF file of five sections: nothing, .rodata, .symtab, .strtab (also the names of
// sections) and .note.GNU-stack. Layout: header, constants, symbols, strings, section headers.

#include "src/compiler/emit/constant_object.h"

#include <elf.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "src/base/math.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Writer of a new file that keeps the first error.
class Writer {
 public:
  explicit Writer(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wbxe")) {}
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
  /// Writes tensors one after the other, each at the next multiple of kTensorAlignment from here.
  void WriteTensors(std::span<const Tensor* const> tensors) {
    const std::int64_t begin = position_;
    for (const Tensor* tensor : tensors) {
      PadTo(begin + RoundUp(position_ - begin, kTensorAlignment));
      Write(tensor->data(), tensor->bytes());
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

/// Differences between the ELF files of machines.
struct Machine {
  Elf64_Half number = EM_NONE;
  bool wide = true;  // 64 bits
  Elf64_Word flags = 0;
};

/// Returns the machine of the target's triple, or this machine.
Result<Machine> MachineOf(const Target& target) {
  std::string triple = target.Option("mtriple");
#if defined(__x86_64__)
  if (triple.empty()) triple = "x86_64";
#elif defined(__aarch64__)
  if (triple.empty()) triple = "aarch64";
#endif
  if (triple.starts_with("x86_64")) return Machine{EM_X86_64};
  if (triple.starts_with("aarch64") || triple.starts_with("arm64")) return Machine{EM_AARCH64};
  if (triple.starts_with("arm")) return Machine{EM_ARM, false, EF_ARM_EABI_VER5};
  return Unsupported("constants for the triple " + triple);
}

struct Elf32 {
  using Header = Elf32_Ehdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
  static constexpr unsigned char kClass = ELFCLASS32;
};
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
  static constexpr unsigned char kClass = ELFCLASS64;
};

/// Sets a field, whose width depends on the class of the file.
template <typename Field>
void Set(Field& field, std::int64_t value) {
  field = static_cast<Field>(value);
}

template <typename Elf>
typename Elf::Section Section(std::size_t name, Elf64_Word type, Elf64_Word flags,
                              std::int64_t offset, std::int64_t size, std::int64_t alignment) {
  typename Elf::Section section = {};
  section.sh_name = static_cast<Elf64_Word>(name);
  section.sh_type = type;
  section.sh_flags = flags;
  Set(section.sh_offset, offset);
  Set(section.sh_size, size);
  Set(section.sh_addralign, alignment);
  return section;
}

template <typename Elf>
typename Elf::Header Header(const Machine& machine, std::int64_t section_headers,
                            Elf64_Half sections, Elf64_Half string_section) {
  typename Elf::Header header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = Elf::kClass;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine.number;
  header.e_version = EV_CURRENT;
  header.e_flags = machine.flags;
  Set(header.e_shoff, section_headers);
  header.e_ehsize = sizeof(typename Elf::Header);
  header.e_shentsize = sizeof(typename Elf::Section);
  header.e_shnum = sections;
  header.e_shstrndx = string_section;
  return header;
}

template <typename Elf>
Status WriteObject(std::span<const Tensor* const> constants, std::int64_t total_bytes,
                   const Machine& machine, const std::string& path) {
  const std::string symbol = kConstantsSymbol;
  const std::string strings = std::string(1, '\0') + symbol + '\0' + ".rodata" + '\0' + ".symtab" +
                              '\0' + ".strtab" + '\0' + ".note.GNU-stack" + '\0';
  const std::int64_t begin = RoundUp(sizeof(typename Elf::Header), kTensorAlignment);
  const std::int64_t size = std::max<std::int64_t>(total_bytes, kTensorAlignment);
  const std::int64_t symbols = RoundUp(begin + size, 8);
  std::array<typename Elf::Symbol, 2> table = {};
  table[1].st_name = static_cast<Elf64_Word>(strings.find(symbol));
  table[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  table[1].st_other = STV_HIDDEN;
  table[1].st_shndx = 1;
  Set(table[1].st_size, size);
  const std::int64_t string_begin = symbols + static_cast<std::int64_t>(sizeof table);
  const auto string_size = static_cast<std::int64_t>(strings.size());
  const std::int64_t headers = RoundUp(string_begin + string_size, 8);
  std::array<typename Elf::Section, 5> sections = {
      typename Elf::Section{},
      Section<Elf>(strings.find(".rodata"), SHT_PROGBITS, SHF_ALLOC, begin, size, kTensorAlignment),
      Section<Elf>(strings.find(".symtab"), SHT_SYMTAB, 0, symbols, sizeof table, 8),
      Section<Elf>(strings.find(".strtab"), SHT_STRTAB, 0, string_begin, string_size, 1),
      Section<Elf>(strings.find(".note.GNU-stack"), SHT_PROGBITS, 0, headers, 0, 1)};
  sections[2].sh_link = 3;  // its strings
  sections[2].sh_info = 1;  // first symbol that is not local
  sections[2].sh_entsize = sizeof(typename Elf::Symbol);

  Writer writer(path);
  const auto header = Header<Elf>(machine, headers, sections.size(), 3);
  writer.Write(&header, sizeof header);
  writer.PadTo(begin);
  writer.WriteTensors(constants);
  writer.PadTo(symbols);
  writer.Write(table.data(), sizeof table);
  writer.Write(strings.data(), string_size);
  writer.PadTo(headers);
  writer.Write(sections.data(), sizeof sections);
  return writer.Finish();
}

}  // namespace

Status WriteConstantObject(std::span<const Tensor* const> constants, std::int64_t total_bytes,
                           const Target& target, const std::string& path) {
  TW_ASSIGN_OR_RETURN(auto machine, MachineOf(target));
  if (machine.wide) return WriteObject<Elf64>(constants, total_bytes, machine, path);
  constexpr std::int64_t kMax = std::int64_t{1} << 30;  // a part of 4 GiB of addresses is taken
  if (total_bytes > kMax) {
    return Unsupported("constants of " + std::to_string(total_bytes) + " bytes, a 32-bit target " +
                       "takes at most " + std::to_string(kMax));
  }
  return WriteObject<Elf32>(constants, total_bytes, machine, path);
}

Status WriteParameterFile(std::span<const Tensor* const> constants, const TwParameterHeader& header,
                          const std::string& path) {
  Writer writer(path);
  writer.Write(&header, sizeof header);
  writer.PadTo(TW_PARAMETER_OFFSET);
  writer.WriteTensors(constants);
  writer.PadTo(TW_PARAMETER_OFFSET + header.bytes);
  return writer.Finish();
}

}  // namespace tilewright
