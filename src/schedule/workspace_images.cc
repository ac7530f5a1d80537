#include "src/schedule/workspace_images.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/ir/simplify.h"
#include "src/ir/visit.h"

namespace tilewright {
namespace {

struct ImageMark {
  const StmtNode* store;
  std::int64_t rows;
};

const std::int64_t* ImageRowsOf(const StmtNode& stmt) {
  const auto found = stmt.attributes.find(kImageRowsAttribute);
  return found == stmt.attributes.end() ? nullptr : &found->second;
}

/// True for a loop whose iterations write the elements of one texel.
bool WritesTexel(const StmtNode& loop) {
  if (loop.kind != StmtKind::kFor || loop.loop != LoopKind::kVectorized ||
      loop.extent != kTexelElements || loop.body[0]->kind != StmtKind::kStore) {
    return false;
  }
  return IsWholeTexel(loop.body[0]->indices, loop.var);
}

/// Finds the stores of texels. Errors: kInvalidArgument for a marked loop that
/// is none.
Status FindMarks(const Stmt& stmt, std::vector<ImageMark>& marks) {
  if (const std::int64_t* rows = ImageRowsOf(*stmt)) {
    if (!WritesTexel(*stmt)) return InvalidArgument("an image is not written in texels of 4");
    marks.push_back({stmt->body[0].get(), *rows});
  }
  for (const Stmt& part : stmt->body) {
    if (part) TW_RETURN_IF_ERROR(FindMarks(part, marks));
  }
  return {};
}

template <typename Visit>
void ForEachStmt(const Stmt& stmt, const Visit& visit) {
  if (!stmt) return;
  visit(*stmt);
  for (const Stmt& part : stmt->body) ForEachStmt(part, visit);
}

/// Accesses of a statement to a buffer.
struct Uses {
  bool reads = false, writes = false, writes_elements = false;
};
Uses UsesOf(const Stmt& stmt, const Buffer& buffer, const std::vector<ImageMark>& marks) {
  Uses uses;
  ForEachStmt(stmt, [&](const StmtNode& node) {
    if (node.kind == StmtKind::kStore && node.buffer == buffer) {
      uses.writes = true;
      if (std::ranges::find(marks, &node, &ImageMark::store) == marks.end())
        uses.writes_elements = true;
    }
    for (const Region& region : node.regions) {
      if (region.buffer == buffer) uses.writes_elements = true;
    }
    ForEachOwnExpr(node,
                   [&](const Expr& expr) { uses.reads = uses.reads || LoadsFrom(expr, buffer); });
  });
  return uses;
}

/// Checks the buffer of a mark and returns its sizes as an image.
Result<WorkspaceImage> ImageOf(const Buffer& buffer, std::int64_t argument, std::int64_t rows) {
  const auto dimensions = static_cast<std::int64_t>(buffer->shape.size());
  const bool fits = (buffer->dtype == kFloat32 || buffer->dtype == kFloat16) && dimensions >= 2 &&
                    buffer->shape.back() == kTexelElements && rows >= 0 && rows < dimensions;
  if (!fits) {
    return InvalidArgument("image " + buffer->name +
                           ": expected float32 or float16 in texels of 4 elements");
  }
  WorkspaceImage image{buffer, argument, static_cast<std::size_t>(rows), 1, 1};
  for (std::size_t d = 0; d + 1 < buffer->shape.size(); ++d) {
    (d < image.row_dimensions ? image.height : image.width) *= buffer->shape[d];
  }
  return image;
}

/// Rewrites accesses to images that are not known to be inside of them.
class BoundsGuard {
 public:
  explicit BoundsGuard(const std::vector<WorkspaceImage>& images) : images_(images) {}

  Stmt Guard(const Stmt& stmt) {
    if (!stmt) return stmt;
    if (stmt->kind == StmtKind::kFor) ranges_.Set(stmt->var, {0, stmt->extent - 1});
    std::vector<Stmt> body;
    for (const Stmt& part : stmt->body) body.push_back(Guard(part));
    Stmt guarded = body.empty() ? stmt : WithBody(stmt, std::move(body));
    guarded = MapOwnExprs(guarded, [&](const Expr& expr) { return GuardLoads(expr); });
    const WorkspaceImage* image =
        stmt->kind == StmtKind::kStore ? ImageOfBuffer(images_, *stmt->buffer) : nullptr;
    if (image == nullptr) return guarded;
    return MakeStore(guarded->buffer, Inside(*image, guarded->indices), guarded->value);
  }

 private:
  Expr GuardLoads(const Expr& expr) {
    return Rewrite(expr, [&](const Expr& node) -> Expr {
      const WorkspaceImage* image =
          node->kind == ExprKind::kLoad ? ImageOfBuffer(images_, *node->buffer) : nullptr;
      if (image == nullptr) return {};
      return MakeLoad(node->buffer, Inside(*image, node->args));
    });
  }
  std::vector<Expr> Inside(const WorkspaceImage& image, std::vector<Expr> indices) const {
    const TexelPlace texel = TexelOf(image, indices);
    const auto within = [&](const Expr& place, std::int64_t extent) {
      const auto bounds = BoundsOf(place, ranges_);
      if (bounds && bounds->min >= 0 && bounds->max < extent) return MakeInt(kBool, 1);
      return And(Le(Expr(0), place), Lt(place, Expr(extent)));
    };
    const Expr inside = And(within(texel.row, image.height), within(texel.column, image.width));
    std::int64_t always = 0;
    if (inside.IsInt(&always) && always != 0) return indices;
    indices[0] = MakeSelect(inside, indices[0], Expr(image.buffer->shape[0]));
    for (std::size_t d = 1; d + 1 < indices.size(); ++d) {
      indices[d] = MakeSelect(inside, indices[d], Expr(0));
    }
    return indices;
  }

  const std::vector<WorkspaceImage>& images_;
  Ranges ranges_;
};

}  // namespace

Result<std::vector<WorkspaceImage>> WorkspaceImagesOf(const Program& program,
                                                      const LaunchPlan& plan) {
  std::vector<ImageMark> marks;
  std::vector<WorkspaceImage> images;
  if (!program.body) return images;
  TW_RETURN_IF_ERROR(FindMarks(program.body, marks));
  if (marks.empty()) return images;
  auto argument = static_cast<std::int64_t>(program.parameters.size());
  for (const Buffer& buffer : plan.workspace) {
    const auto mark = std::ranges::find_if(
        marks, [&](const ImageMark& one) { return one.store->buffer == buffer; });
    if (mark != marks.end()) {
      TW_ASSIGN_OR_RETURN(auto image, ImageOf(buffer, argument, mark->rows));
      images.push_back(std::move(image));
    }
    ++argument;
  }
  for (const ImageMark& mark : marks) {
    const auto image = std::ranges::find(images, mark.store->buffer, &WorkspaceImage::buffer);
    if (image == images.end() || image->row_dimensions != static_cast<std::size_t>(mark.rows)) {
      return InvalidArgument("image " + mark.store->buffer->name +
                             ": expected a workspace with one number of rows");
    }
  }
  for (const WorkspaceImage& image : images) {
    for (const Launch& launch : plan.launches) {
      const Uses uses = UsesOf(launch.body, image.buffer, marks);
      if (!uses.writes_elements && !(uses.reads && uses.writes)) continue;
      return InvalidArgument(
          "image " + image.buffer->name + ": launch " + launch.name +
          (uses.writes_elements ? " does not write it in texels" : " reads and writes it"));
    }
  }
  return images;
}

const WorkspaceImage* ImageOfBuffer(const std::vector<WorkspaceImage>& images,
                                    const BufferNode& buffer) {
  const auto found = std::ranges::find_if(
      images, [&](const WorkspaceImage& image) { return image.buffer.get() == &buffer; });
  return found == images.end() ? nullptr : &*found;
}

bool IsWholeTexel(const std::vector<Expr>& indices, const Expr& lane) {
  return !indices.empty() && indices.back().Same(lane) &&
         std::none_of(indices.begin(), indices.end() - 1,
                      [&](const Expr& index) { return Contains(index, lane); });
}

TexelPlace TexelOf(const WorkspaceImage& image, const std::vector<Expr>& indices) {
  TexelPlace place{Expr(0), Expr(0)};
  for (std::size_t d = 0; d + 1 < indices.size(); ++d) {
    Expr& along = d < image.row_dimensions ? place.row : place.column;
    along = along * Expr(image.buffer->shape[d]) + indices[d];
  }
  return place;
}

Stmt WithImageBounds(const Stmt& stmt, const std::vector<WorkspaceImage>& images) {
  return images.empty() ? stmt : BoundsGuard(images).Guard(stmt);
}

}  // namespace tilewright
