#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include "src/codegen/codegen.h"

namespace tilewright {

Result<std::int64_t> CodeBytes(std::string_view object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernel"));
  if (!file) return InvalidArgument("no object file: " + llvm::toString(file.takeError()));
  std::int64_t bytes = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (section.isText()) bytes += static_cast<std::int64_t>(section.getSize());
  }
  return bytes;
}

}  // namespace tilewright
