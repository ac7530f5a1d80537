#include "src/codegen/amdgpu/code_object.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>

namespace tilewright {
namespace {

using llvm::msgpack::DocNode;
using CodeObject = llvm::object::ELF64LEObjectFile;

Status NoCodeObject(const std::string& why) {
  return InvalidArgument("not a code object of an AMD GPU: " + why);
}

/// Returns the metadata of the note; empty if there is none.
llvm::StringRef MetadataOf(const CodeObject& object) {
  const auto& file = object.getELFFile();
  auto headers = file.program_headers();
  if (!headers) {
    llvm::consumeError(headers.takeError());
    return {};
  }
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error broken = llvm::Error::success();
    llvm::StringRef metadata;
    for (const auto& note : file.notes(header, broken)) {
      if (note.getName() != "AMDGPU" || note.getType() != llvm::ELF::NT_AMDGPU_METADATA) continue;
      metadata = note.getDescAsStringRef(header.p_align);
    }
    if (broken) {
      llvm::consumeError(std::move(broken));
      return {};
    }
    if (!metadata.empty()) return metadata;
  }
  return {};
}

/// Fields of a kernel's map.
class Fields {
 public:
  explicit Fields(DocNode& node) : map_(node.getMap()) {}
  std::int64_t Number(const char* name) {
    const auto found = map_.find(name);
    if (found == map_.end()) return 0;
    if (found->second.getKind() == llvm::msgpack::Type::UInt) {
      return static_cast<std::int64_t>(found->second.getUInt());
    }
    return found->second.getKind() == llvm::msgpack::Type::Int ? found->second.getInt() : 0;
  }
  int Count(const char* name) { return static_cast<int>(Number(name)); }
  std::string Text(const char* name) {
    const auto found = map_.find(name);
    const bool is_text =
        found != map_.end() && found->second.getKind() == llvm::msgpack::Type::String;
    return is_text ? found->second.getString().str() : std::string();
  }
  int Items(const char* name) {
    const auto found = map_.find(name);
    const bool is_list = found != map_.end() && found->second.isArray();
    return is_list ? static_cast<int>(found->second.getArray().size()) : 0;
  }

 private:
  llvm::msgpack::MapDocNode& map_;
};

AmdKernelResources ResourcesOf(DocNode& kernel) {
  Fields fields(kernel);
  AmdKernelResources resources;
  resources.kernel = fields.Text(".name");
  resources.vector_registers = fields.Count(".vgpr_count");
  resources.scalar_registers = fields.Count(".sgpr_count");
  resources.vector_spills = fields.Count(".vgpr_spill_count");
  resources.scalar_spills = fields.Count(".sgpr_spill_count");
  resources.private_bytes = fields.Number(".private_segment_fixed_size");
  resources.local_bytes = fields.Number(".group_segment_fixed_size");
  resources.wave_lanes = fields.Count(".wavefront_size");
  resources.threads = fields.Count(".max_flat_workgroup_size");
  resources.parameters = fields.Items(".args");
  return resources;
}

}  // namespace

Result<std::vector<AmdKernelResources>> ResourcesOfCodeObject(std::string_view code) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(code, "code"));
  if (!file) return NoCodeObject(llvm::toString(file.takeError()));
  const auto* object = llvm::dyn_cast<CodeObject>(file->get());
  if (object == nullptr || object->getArch() != llvm::Triple::amdgcn) {
    return NoCodeObject("another machine's");
  }
  llvm::msgpack::Document document;
  if (!document.readFromBlob(MetadataOf(*object), /*Multi=*/false) || !document.getRoot().isMap()) {
    return NoCodeObject("no metadata");
  }
  auto& root = document.getRoot().getMap();
  const auto kernels = root.find("amdhsa.kernels");
  std::vector<AmdKernelResources> resources;
  if (kernels == root.end() || !kernels->second.isArray()) return NoCodeObject("no kernels");
  for (DocNode& kernel : kernels->second.getArray()) {
    if (!kernel.isMap()) return NoCodeObject("a kernel without fields");
    resources.push_back(ResourcesOf(kernel));
  }
  return resources;
}

}  // namespace tilewright
