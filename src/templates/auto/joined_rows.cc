// Analysis of windows. Rows that do not fill the vectors (14 of 16 elements) are joined: the image
// is read at y * row + x + r * row + s, which is linear, so vectors cross the ends of rows.
// Elements computed there are not written, and those read there are inside the image: between the
// first and the last position of the same tap.

#include "src/templates/auto/joined_rows.h"

#include <algorithm>
#include <optional>

#include "src/ir/simplify.h"
#include "src/ir/visit.h"
#include "src/tensor/expression/collapse.h"

namespace tilewright {
namespace {

constexpr std::int64_t kLongestTaps = 7;  // steps of a window along one axis
constexpr std::int64_t kMaxTaps = 49;

/// Returns the rest of an index that contains `var` once and is otherwise a sum of reduced axes.
std::optional<Expr> TapsOf(const Expr& index, const Expr& var, const std::vector<Axis>& reduced) {
  LinearForm form = LinearForm::Of(index, Ranges());
  bool counted = false;
  for (const auto& term : form.terms) {
    const bool own = term.atom.Same(var);
    const bool tap =
        std::ranges::any_of(reduced, [&](const Axis& axis) { return axis.var.Same(term.atom); });
    if (own ? term.coefficient != 1 : !tap) return std::nullopt;
    counted = counted || own;
  }
  if (!counted) return std::nullopt;
  form.AddTerm(var, -1);
  return form.ToExpr();
}

/// Joiner of the rows of one computation, if they are to be joined.
class RowJoiner {
 public:
  RowJoiner(const Expression& expression, bool joined) {
    found_.joined = joined;
    found_.compute = DefineExpression(Collapsed(expression));
  }

  Result<Windows> Run() {
    TW_RETURN_IF_ERROR(FindMain());
    const ComputeOp main = found_.op();
    bool fits = true;
    std::vector<const ExprNode*> loads;
    ForEachNode(main.body, [&](const Expr& node) {
      if (node->kind == ExprKind::kLoad) loads.push_back(node.get());
      const bool divides = node->kind == ExprKind::kDiv || node->kind == ExprKind::kFloorDiv ||
                           node->kind == ExprKind::kFloorMod;
      // There may be zeros between rows.
      if (divides && node->dtype.is_integer()) fits = false;
    });
    for (const ExprNode* load : loads) fits = fits && TakeLoad(main, *load);
    if (!fits || images_.empty()) return Unsupported("what is read is not a picture");
    if (!OnlyInPictures(main.body)) return Unsupported("positions are computed with");
    if (found_.windows.empty()) return Unsupported("no windows");
    if (found_.joined) {
      for (const Buffer& picture : images_) JoinPicture(picture);
      JoinMain(main);
    } else {
      CopyMain();
    }
    for (std::size_t i = 0; i < found_.compute.stages.size(); ++i) {
      const ComputeOp& stage = found_.compute.stages[i];
      const auto& made = found_.joined ? joined_ : images_;
      if (std::ranges::find(made, stage.output) == made.end()) continue;
      // A stage that sums, or that several stages read, has its own loops.
      if (stage.combiner != Combiner::kNone || Readers(stage.output) != 1) continue;
      found_.pictures.push_back(static_cast<int>(i));
    }
    return std::move(found_);
  }

 private:
  Status FindMain() {
    double most = 0, all = 0;
    const auto& stages = found_.compute.stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      auto work = static_cast<double>(stages[i].output->elements());
      for (const Axis& axis : stages[i].reduce_axes) work *= static_cast<double>(axis.extent);
      all += work;
      if (work <= most || stages[i].combiner == Combiner::kNone) continue;
      most = work;
      found_.main = i;
    }
    if (2 * most < all) return Unsupported("no reduction does most of the work");
    const std::vector<Axis>& axes = found_.op().axes;
    if (axes.size() < 2) return Unsupported("the result is not a picture");
    y_ = axes[axes.size() - 2];
    x_ = axes.back();
    if (y_.extent < 2 || x_.extent < 2) return Unsupported("the result is not a picture");
    found_.height = y_.extent;
    found_.width = x_.extent;
    return {};
  }

  /// Returns false if the load neither reads an image nor is independent of positions in one.
  bool TakeLoad(const ComputeOp& main, const ExprNode& load) {
    bool nested = false, mentions = false;
    for (const Expr& index : load.args) {
      mentions = mentions || Contains(index, y_.var) || Contains(index, x_.var);
      nested = nested || HasKind(index, ExprKind::kLoad);
    }
    if (nested) return false;
    if (!mentions) return true;
    const std::size_t rank = load.args.size();
    if (rank < 2) return false;
    // Positions are the last two indices only.
    for (std::size_t d = 0; d + 2 < rank; ++d) {
      if (Contains(load.args[d], y_.var) || Contains(load.args[d], x_.var)) return false;
    }
    const auto rows = TapsOf(load.args[rank - 2], y_.var, main.reduce_axes);
    const auto columns = TapsOf(load.args[rank - 1], x_.var, main.reduce_axes);
    if (!rows || !columns || load.buffer->shape[rank - 2] < 2) return false;
    // Every other axis has a separate image.
    for (std::size_t a = 0; a + 2 < main.axes.size(); ++a) {
      const Expr& var = main.axes[a].var;
      const bool read =
          std::ranges::any_of(load.args, [&](const Expr& index) { return Contains(index, var); });
      if (!read && main.axes[a].extent > 1) return false;
    }
    const std::int64_t row = load.buffer->shape[rank - 1];
    if (found_.row != 0 && found_.row != row) return false;
    found_.row = row;
    if (std::ranges::find(images_, load.buffer) == images_.end()) {
      images_.push_back(load.buffer);
    }
    std::int64_t taps = 1;
    for (std::size_t r = 0; r < main.reduce_axes.size(); ++r) {
      const Axis& axis = main.reduce_axes[r];
      if (!Contains(*rows, axis.var) && !Contains(*columns, axis.var)) continue;
      taps *= axis.extent;
      if (axis.extent > kLongestTaps || taps > kMaxTaps) return false;
      const int number = static_cast<int>(r);
      if (std::ranges::find(found_.windows, number) == found_.windows.end()) {
        found_.windows.push_back(number);
      }
    }
    std::ranges::sort(found_.windows);
    return true;
  }

  bool LoadsImage(const Expr& node) const {
    return node->kind == ExprKind::kLoad &&
           std::ranges::find(images_, node->buffer) != images_.end();
  }

  /// Whether y and x are in indices of images only, which TakeLoad has checked.
  bool OnlyInPictures(const Expr& expr) const {
    if (LoadsImage(expr)) return true;
    if (expr.Same(y_.var) || expr.Same(x_.var)) return false;
    return std::ranges::all_of(expr->args, [&](const Expr& arg) { return OnlyInPictures(arg); });
  }

  static std::vector<std::int64_t> WithRowsJoined(const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> joined(shape.begin(), shape.end() - 1);
    joined.back() *= shape.back();
    return joined;
  }

  /// Joins the rows of the image, in its stage, or by a view of an input.
  void JoinPicture(const Buffer& picture) {
    const std::int64_t row = found_.row;
    auto& stages = found_.compute.stages;
    const auto maker = std::ranges::find(stages, picture, &ComputeOp::output);
    ComputeOp made;
    made.output =
        MakeBuffer(picture->name + ".rows", picture->dtype, WithRowsJoined(picture->shape));
    made.name = made.output->name;
    joined_.push_back(made.output);
    std::vector<Expr> index;
    for (std::int64_t extent : made.output->shape) {
      made.axes.push_back({MakeVar("d" + std::to_string(index.size())), extent, false});
      index.push_back(made.axes.back().var);
    }
    const Expr position = index.back();
    index.back() = FloorDiv(position, Expr(row));
    index.push_back(FloorMod(position, Expr(row)));
    // A stage that sums has separate rows; elementwise stages follow from here.
    const std::size_t before = found_.main;
    const bool elementwise = maker != stages.end() && maker->combiner == Combiner::kNone;
    if (elementwise) {
      Substitution place;
      for (std::size_t d = 0; d < maker->axes.size(); ++d) {
        place.emplace_back(maker->axes[d].var.get(), index[d]);
      }
      made.body = Substitute(maker->body, place);
    } else {
      made.body = MakeLoad(picture, std::move(index));
    }
    stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(before), std::move(made));
    ++found_.main;
  }

  /// Returns a stage that writes the result of `main`, without its value, and its position.
  static ComputeOp WriterOf(const ComputeOp& main, std::vector<Expr>& index) {
    ComputeOp copy;
    copy.name = main.name;
    copy.output = main.output;
    for (const Axis& own : main.axes) {
      copy.axes.push_back({MakeVar(own.var->name), own.extent, false});
      index.push_back(copy.axes.back().var);
    }
    return copy;
  }

  void CopyMain() {
    auto& stages = found_.compute.stages;
    ComputeOp& main = stages[found_.main];
    std::vector<Expr> index;
    ComputeOp copy = WriterOf(main, index);
    main.name += ".rows";
    main.output = MakeBuffer(main.name, copy.output->dtype, copy.output->shape);
    copy.body = MakeLoad(main.output, std::move(index));
    stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(found_.main) + 1, std::move(copy));
  }

  void JoinMain(ComputeOp main) {
    const std::int64_t row = found_.row;
    found_.elements = (found_.height - 1) * row + found_.width;
    const Expr position = MakeVar("p");
    std::vector<Expr> index;
    ComputeOp copy = WriterOf(main, index);
    const Buffer result = copy.output;
    const Expr x = index.back();
    index.pop_back();
    index.back() = index.back() * Expr(row) + x;
    main.name += ".rows";
    main.axes.pop_back();
    main.axes.back() = {position, found_.elements, false};
    std::vector<std::int64_t> shape;
    for (const Axis& axis : main.axes) shape.push_back(axis.extent);
    main.output = MakeBuffer(main.name, result->dtype, std::move(shape));
    main.body = Rewrite(main.body, [&](const Expr& node) -> Expr {
      if (!LoadsImage(node)) return {};
      const auto at = std::ranges::find(images_, node->buffer) - images_.begin();
      std::vector<Expr> args = node->args;
      const Substitution first = {{y_.var.get(), Expr(0)}, {x_.var.get(), Expr(0)}};
      const Expr column = Substitute(args.back(), first);
      args.pop_back();
      args.back() = position + Substitute(args.back(), first) * Expr(row) + column;
      return MakeLoad(joined_[static_cast<std::size_t>(at)], std::move(args));
    });
    copy.body = MakeLoad(main.output, std::move(index));
    auto& stages = found_.compute.stages;
    stages[found_.main] = std::move(main);
    stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(found_.main) + 1, std::move(copy));
    DropUnread();
  }

  /// Number of stages that read a buffer.
  int Readers(const Buffer& buffer) const {
    return static_cast<int>(std::ranges::count_if(
        found_.compute.stages,
        [&](const ComputeOp& reader) { return LoadsFrom(reader.body, buffer); }));
  }

  /// Drops stages that only computed an image whose rows were not joined.
  void DropUnread() {
    auto& stages = found_.compute.stages;
    for (std::size_t i = found_.main; i-- > 0;) {
      if (Readers(stages[i].output) > 0) continue;
      stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(i));
      --found_.main;
    }
  }

  Windows found_;
  Axis y_, x_;
  std::vector<Buffer> images_, joined_;  // one for one
};

}  // namespace

Result<Windows> FindWindows(const Expression& expression, bool joined) {
  return RowJoiner(expression, joined).Run();
}

}  // namespace tilewright
