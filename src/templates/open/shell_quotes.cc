#include "src/templates/open/shell_quotes.h"

#include <algorithm>

namespace tilewright {
namespace {

/// Scan of a text for a shell. `at` is the position of the next character.
class ShellScan {
 public:
  explicit ShellScan(std::string_view text) : text_(text) {}

  UnsafeValue Run() {
    while (at_ < text_.size() && found_.place == ShellPlace::kPlain) Step();
    return found_;
  }

 private:
  enum class State : std::uint8_t { kPlain, kSingle, kDouble, kComment, kUnsure };

  char Before() const { return at_ == 0 ? '\n' : text_[at_ - 1]; }
  bool Follows(std::string_view part) const { return text_.substr(at_).starts_with(part); }

  void TakeValue(ShellPlace place) {
    if (place != ShellPlace::kPlain) {
      found_ = {place, static_cast<std::size_t>(std::count(
                           text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\0'))};
    }
    ++at_;
  }
  void StepPlain(char c) {
    constexpr std::string_view kBeforeComment = " \t\n;&|()";
    if (c == '\\') return Skip(2);
    if (c == '`') return SkipSubstitution("`");
    if (c == '$' && text_.substr(at_ + 1).starts_with('\0')) {  // $'…' with a quoted value
      ++at_;
      return TakeValue(ShellPlace::kUnsure);
    }
    if (Follows("$'") || (Follows("<<") && !in_arithmetic())) {
      state_ = State::kUnsure;
    } else if (c == '\'') {
      state_ = State::kSingle;
    } else if (c == '"') {
      state_ = State::kDouble;
    } else if (c == '#' && kBeforeComment.find(Before()) != std::string_view::npos) {
      state_ = State::kComment;
    }
    ++at_;
  }
  /// Whether "$((" is open: "<<" is a shift there.
  bool in_arithmetic() const {
    const std::size_t open = text_.substr(0, at_).rfind("$((");
    return open != std::string_view::npos &&
           text_.substr(open, at_ - open).find("))") == std::string_view::npos;
  }
  void StepDouble(char c) {
    if (c == '\\') return Skip(2);
    if (c == '`') return SkipSubstitution("`");
    if (Follows("$(")) return SkipSubstitution(")");
    if (Follows("${")) return SkipSubstitution("}");
    if (c == '"') state_ = State::kPlain;
    ++at_;
  }
  /// Skips an escape; a value in it is quoted.
  void Skip(std::size_t count) {
    for (std::size_t i = 0; i < count && at_ < text_.size(); ++i) {
      if (text_[at_] == '\0') return TakeValue(ShellPlace::kQuoted);
      ++at_;
    }
  }
  /// Skips a substitution or expansion if it contains no quotes and no other one.
  void SkipSubstitution(std::string_view end) {
    const std::size_t first = at_ + (end == "`" ? 1 : 2);
    const std::size_t last = text_.find_first_of("\"'`\\()${}#<", first);
    if (last == std::string_view::npos || !text_.substr(last).starts_with(end)) {
      state_ = State::kUnsure;
      ++at_;
      return;
    }
    Skip(last + 1 - at_);
  }
  void Step() {
    const char c = text_[at_];
    if (c == '\0') {
      return TakeValue(state_ == State::kPlain    ? ShellPlace::kPlain
                       : state_ == State::kUnsure ? ShellPlace::kUnsure
                                                  : ShellPlace::kQuoted);
    }
    switch (state_) {
      case State::kPlain:
        return StepPlain(c);
      case State::kDouble:
        return StepDouble(c);
      case State::kSingle:
        if (c == '\'') state_ = State::kPlain;
        break;
      case State::kComment:
        if (c == '\n') state_ = State::kPlain;
        break;
      case State::kUnsure:
        break;
    }
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  State state_ = State::kPlain;
  UnsafeValue found_;
};

}  // namespace

UnsafeValue FindUnsafeValue(std::string_view text) { return ShellScan(text).Run(); }

}  // namespace tilewright
