#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <mutex>

#include "src/base/file.h"
#include "src/base/strings.h"
#include "src/codegen/codegen.h"

LLD_HAS_DRIVER(elf)

namespace tilewright {
namespace {

/// Where the system's C and maths libraries are on Debian and on the other usual systems.
constexpr const char* kLibraryFolders[] = {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                                           "/lib64", "/usr/lib", "/lib"};

/// True if the object needs a symbol it does not define itself.
Result<bool> HasUndefined(const std::string& object) {
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file =
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "object"));
  if (!file) return InvalidArgument("linking: " + llvm::toString(file.takeError()));
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    llvm::Expected<std::uint32_t> flags = symbol.getFlags();
    if (!flags) return InvalidArgument("linking: " + llvm::toString(flags.takeError()));
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0) continue;
    // The first entry of every ELF symbol table is undefined and has no name.
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (name && !name->empty()) return true;
  }
  return false;
}

/// Runs the linker. It keeps its state in globals, so one call at a time.
Status RunLinker(const std::vector<std::string>& arguments) {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  std::string output, errors;
  llvm::raw_string_ostream out(output), error_out(errors);
  const bool linked = lld::elf::link(pointers, out, error_out, /*exitEarly=*/false,
                                     /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  if (linked) return {};
  return InvalidArgument("linking: " + std::string(Trim(errors)));
}

}  // namespace

Status LinkShared(const std::vector<std::string>& objects, const std::vector<std::string>& archives,
                  const std::string& output_path, BuildTimes* times) {
  const auto start = std::chrono::steady_clock::now();
  Result<TemporaryFolder> folder = TemporaryFolder::Create("tilewright-link");
  TW_RETURN_IF_ERROR(folder);
  std::vector<std::string> arguments = {
      "ld.lld", "-shared",     "--threads=1",    "-O0", "--build-id=none",
      "-z",     "noexecstack", "--no-undefined", "-o",  output_path};
  bool needs_libraries = !archives.empty();
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::string path = folder->path() + "/" + std::to_string(i) + ".o";
    TW_RETURN_IF_ERROR(WriteFile(path, objects[i]));
    arguments.push_back(path);
    const Result<bool> undefined = HasUndefined(objects[i]);
    TW_RETURN_IF_ERROR(undefined);
    needs_libraries = needs_libraries || *undefined;
  }
  arguments.insert(arguments.end(), archives.begin(), archives.end());
  if (needs_libraries) {
    arguments.emplace_back("--as-needed");
    for (const char* name : {"/libm.so.6", "/libc.so.6"}) {
      for (const char* place : kLibraryFolders) {
        if (!FileExists(std::string(place) + name)) continue;
        arguments.push_back(std::string(place) + name);
        break;
      }
    }
  }
  TW_RETURN_IF_ERROR(RunLinker(arguments));
  if (times != nullptr) {
    times->link_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return {};
}

}  // namespace tilewright
