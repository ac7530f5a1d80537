// Compiles an instrumented kernel for this machine, loads it, and connects its calls to the
// BlockMachine.

#include "src/codegen/simt/simt.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <cstring>

#include "src/codegen/llvm/build_module.h"
#include "src/codegen/llvm/machine_code.h"
#include "src/codegen/llvm/target_machine.h"
#include "src/codegen/nvptx/shared_memory.h"
#include "src/codegen/simt/block_machine.h"
#include "src/codegen/simt/instrument.h"
#include "src/target/cpu.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

using simt::BlockMachine;
using simt::Memory;

std::int32_t IndexThunk(BlockMachine* machine, std::int32_t which) { return machine->Index(which); }
void BarrierThunk(BlockMachine* machine, std::int32_t which) { machine->Barrier(which); }
void AccessThunk(BlockMachine* machine, std::int32_t memory, const void* address,
                 std::int32_t bytes, std::int32_t write) {
  machine->Access(memory, address, bytes, write);
}

void ProductThunk(BlockMachine* machine, std::int32_t product, std::uint32_t* words) {
  machine->MatrixProduct(product, words);
}

void CopyThunk(BlockMachine* machine, std::int32_t to_memory, void* to, std::int32_t from_memory,
               const void* from, std::int32_t bytes, std::int32_t read) {
  machine->BeginCopy(to_memory, to, from_memory, from, bytes, read);
}
void CommitThunk(BlockMachine* machine) { machine->CommitCopies(); }
void WaitThunk(BlockMachine* machine, std::int32_t pending) { machine->WaitForCopies(pending); }

Status FromLlvm(llvm::Error error) { return Internal("LLVM: " + llvm::toString(std::move(error))); }

/// Target machine for this CPU with the shortest compile time.
Result<std::unique_ptr<llvm::TargetMachine>> HostMachine() {
  const std::string triple = llvm::sys::getDefaultTargetTriple();
  std::string error;
  const llvm::Target* back_end = llvm::TargetRegistry::lookupTarget(triple, error);
  if (back_end == nullptr) return Unsupported("no code generator for this machine: " + error);
  std::unique_ptr<llvm::TargetMachine> machine(back_end->createTargetMachine(
      triple, HostCpuName(), HostCpuAttributes(), llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::None));
  if (machine == nullptr) return Unsupported("no code generator for " + triple);
  return machine;
}

/// Returns the object file of the instrumented module.
Result<std::string> CompileForHost(llvm::Module& module) {
  TW_ASSIGN_OR_RETURN(auto machine, HostMachine());
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  std::string broken;
  llvm::raw_string_ostream words(broken);
  if (llvm::verifyModule(module, &words)) return Internal("LLVM refuses the code: " + broken);
  return emit::EmitMachineCode(module, *machine, /*assembly=*/false);
}

}  // namespace

struct SimtKernel::State {
  Program program;
  LaunchPlan plan;
  std::vector<simt::SharedArray> shared;
  std::unique_ptr<llvm::orc::LLJIT> jit;

  Status Load(const std::string& object);
  Result<void*> Find(const std::string& name) const;
  /// Tracking of writes: from the first launch on, or not at all.
  enum class History : std::uint8_t { kWhole, kNone };
  Status AddMemories(std::span<void* const> pointers, History history, BlockMachine* machine) const;
  Status Execute(std::span<const Launch> launches, std::span<void* const> pointers,
                 History history) const;
};

Status SimtKernel::State::Load(const std::string& object) {
  auto made = llvm::orc::LLJITBuilder().create();
  if (!made) return FromLlvm(made.takeError());
  jit = std::move(*made);
  llvm::orc::SymbolMap symbols;
  const auto define = [&](const char* name, auto* function) {
    symbols[jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                           llvm::JITSymbolFlags::Exported};
  };
  define(simt::kIndexFunction, &IndexThunk);
  define(simt::kBarrierFunction, &BarrierThunk);
  define(simt::kAccessFunction, &AccessThunk);
  define(simt::kProductFunction, &ProductThunk);
  define(simt::kCopyFunction, &CopyThunk);
  define(simt::kCommitFunction, &CommitThunk);
  define(simt::kWaitFunction, &WaitThunk);
  llvm::orc::JITDylib& library = jit->getMainJITDylib();
  if (auto error = library.define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
    return FromLlvm(std::move(error));
  }
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object, program.name);
  if (auto error = jit->addObjectFile(std::move(buffer))) return FromLlvm(std::move(error));
  return {};
}

Result<void*> SimtKernel::State::Find(const std::string& name) const {
  auto address = jit->lookup(name);
  if (!address) return FromLlvm(address.takeError());
  return address->toPtr<void*>();
}

/// Adds all memory in the order in which the code numbers it. pointers: of parameters and
/// workspace.
Status SimtKernel::State::AddMemories(std::span<void* const> pointers, History history,
                                      BlockMachine* machine) const {
  std::size_t next = 0;
  const auto add = [&](const BufferNode& buffer, Memory::Kind kind) {
    // Only inputs have defined contents.
    machine->AddMemory({buffer.name, history == History::kNone ? Memory::Kind::kInput : kind,
                        static_cast<std::byte*>(pointers[next++]), buffer.bytes(),
                        buffer.dtype.bytes()});
  };
  const std::size_t inputs =
      program.parameters.size() - static_cast<std::size_t>(program.output_count);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    add(*program.parameters[i], i < inputs ? Memory::Kind::kInput : Memory::Kind::kOutput);
  }
  for (const Buffer& buffer : plan.workspace) add(*buffer, Memory::Kind::kWorkspace);
  for (const simt::SharedArray& array : shared) {
    TW_ASSIGN_OR_RETURN(auto data, Find(array.symbol));
    machine->AddMemory({array.name, Memory::Kind::kShared,
                        static_cast<std::byte*>(data) + array.offset, array.bytes,
                        array.element_bytes});
  }
  return {};
}

Status SimtKernel::State::Execute(std::span<const Launch> launches, std::span<void* const> pointers,
                                  History history) const {
  BlockMachine machine;
  TW_RETURN_IF_ERROR(AddMemories(pointers, history, &machine));
  TW_ASSIGN_OR_RETURN(auto slot, Find(simt::kMachineGlobal));
  BlockMachine* running = &machine;
  std::memcpy(slot, &running, sizeof running);
  for (const Launch& launch : launches) {
    TW_ASSIGN_OR_RETURN(auto entry, Find(launch.name + simt::kEntrySuffix));
    const auto kernel = reinterpret_cast<BlockMachine::Kernel>(entry);
    TW_RETURN_IF_ERROR(machine.Run(launch, kernel, pointers.data()));
  }
  return {};
}

SimtKernel::SimtKernel(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimtKernel::SimtKernel(SimtKernel&&) noexcept = default;
SimtKernel& SimtKernel::operator=(SimtKernel&&) noexcept = default;
SimtKernel::~SimtKernel() = default;

Result<SimtKernel> SimtKernel::Build(const Program& program, const Target& target) {
  if (!DeviceTraitsOf(target).launches_grids) {
    return InvalidArgument("target kind " + target.kind_name() + ", expected cuda");
  }
  for (const LibraryCall* call : LibraryCallsOf(program.body)) {
    return Unsupported(call->operation + " by " + call->file + ": a library is not emulated");
  }
  BuildTimes times;
  TW_ASSIGN_OR_RETURN(auto built, emit::BuildModule({program}, target, times));
  auto state = std::make_unique<State>();
  state->program = program;
  state->plan = PlanLaunches(program);
  TW_ASSIGN_OR_RETURN(state->shared, simt::Instrument(*built->module));
  nvptx::PlaceDynamicShared(*built->module, state->plan.launches);
  TW_ASSIGN_OR_RETURN(auto object, CompileForHost(*built->module));
  TW_RETURN_IF_ERROR(state->Load(object));
  return SimtKernel(std::move(state));
}

Status SimtKernel::Run(std::span<void* const> arguments) {
  if (arguments.size() != state_->program.parameters.size()) {
    return InvalidArgument(std::to_string(arguments.size()) + " arguments, expected " +
                           std::to_string(state_->program.parameters.size()));
  }
  constexpr std::size_t kAlignment = 64;
  std::vector<std::vector<std::byte>> owned;
  std::vector<void*> pointers(arguments.begin(), arguments.end());
  for (const Buffer& buffer : state_->plan.workspace) {
    owned.emplace_back(static_cast<std::size_t>(buffer->bytes()) + kAlignment);
    void* data = owned.back().data();
    std::size_t space = owned.back().size();
    pointers.push_back(
        std::align(kAlignment, static_cast<std::size_t>(buffer->bytes()), data, space));
  }
  return state_->Execute(state_->plan.launches, pointers, State::History::kWhole);
}

Status SimtKernel::RunLaunch(std::size_t launch, std::span<void* const> arguments) {
  const std::size_t expected = state_->program.parameters.size() + state_->plan.workspace.size();
  if (launch >= state_->plan.launches.size() || arguments.size() != expected) {
    return InvalidArgument("launch " + std::to_string(launch) + " with " +
                           std::to_string(arguments.size()) + " arguments, expected one of " +
                           std::to_string(state_->plan.launches.size()) + " with " +
                           std::to_string(expected));
  }
  return state_->Execute(std::span(state_->plan.launches).subspan(launch, 1), arguments,
                         State::History::kNone);
}

}  // namespace tilewright
