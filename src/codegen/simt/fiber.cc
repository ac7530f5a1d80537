// A switch by swapcontext costs two system calls, for signal masks that are all the same. So it
// only starts a fiber; later switches save and restore the registers with _setjmp and _longjmp,
// which takes a hundredth of the time. A fortified _longjmp rejects a jump to another stack, and so
// do sanitizers, which support swapcontext.
#undef _FORTIFY_SOURCE

#include "src/codegen/simt/fiber.h"

#include <cstdint>

#include "src/base/sanitizer.h"

namespace tilewright::simt {
namespace {

unsigned High(std::uintptr_t value) { return static_cast<unsigned>(std::uint64_t{value} >> 32); }
unsigned Low(std::uintptr_t value) { return static_cast<unsigned>(value); }
std::uintptr_t Joined(unsigned high, unsigned low) {
  return static_cast<std::uintptr_t>(std::uint64_t{high} << 32 | low);
}

}  // namespace

void Fiber::Enter(unsigned body_high, unsigned body_low, unsigned argument_high,
                  unsigned argument_low) {
  const auto body = reinterpret_cast<void (*)(void*)>(Joined(body_high, body_low));
  body(reinterpret_cast<void*>(Joined(argument_high, argument_low)));
}

void Fiber::Make(std::byte* stack, std::size_t stack_bytes, void (*body)(void*), void* argument) {
  getcontext(&start_);
  start_.uc_stack.ss_sp = stack;
  start_.uc_stack.ss_size = stack_bytes;
  start_.uc_link = nullptr;
  const auto function = reinterpret_cast<std::uintptr_t>(body);
  const auto pointer = reinterpret_cast<std::uintptr_t>(argument);
  makecontext(&start_, reinterpret_cast<void (*)()>(&Fiber::Enter), 4, High(function),
              Low(function), High(pointer), Low(pointer));
  // The registers are set. AddressSanitizer's swapcontext reads the size again, to clear its state
  // of the whole stack: twice a switch, which takes most of a simulated kernel's time. Fibers start
  // on memory that it considers valid, and share none.
  start_.uc_stack.ss_size = 0;
  began_ = false;
}

void Fiber::Switch(Fiber& from, Fiber& to) {
  if constexpr (kHasShadowMemory) {
    swapcontext(&from.start_, &to.start_);
    return;
  }
  from.began_ = true;
  if (_setjmp(from.at_) != 0) return;
  if (to.began_) _longjmp(to.at_, 1);
  setcontext(&to.start_);
}

}  // namespace tilewright::simt
