#pragma once

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/schedule/launch.h"

namespace tilewright {

/// Attribute of a vectorized loop that virtual threads repeat as a whole. Without it, each lane is
/// repeated.
inline constexpr const char* kWholeVectorAttribute = "whole_vector";

/// Attribute of the vectorized loop that writes the texels of an image, 4
/// elements each. Its value is the number of leading dimensions of the buffer
/// that are rows of the image; the others, except the last one, are its
/// columns. Back ends without images ignore it: the memory of an image has the
/// order of the buffer's elements.
inline constexpr const char* kImageRowsAttribute = "image_rows";
/// Elements of a texel.
inline constexpr std::int64_t kTexelElements = 4;

/// Workspace of a program that is a 2-D image of texels.
struct WorkspaceImage {
  Buffer buffer;
  std::int64_t argument = 0;  ///< position among the program's parameters and its workspace
  std::size_t row_dimensions = 0;
  std::int64_t width = 0, height = 0;  ///< in texels
};

/// Returns the images of a program, in the order of the workspace. plan: its launches.
/// Errors: kInvalidArgument if a buffer with the attribute is no workspace of
/// float32 or float16 in texels, is also written otherwise, or is read by a
/// launch that writes it.
Result<std::vector<WorkspaceImage>> WorkspaceImagesOf(const Program& program,
                                                      const LaunchPlan& plan);

/// Returns the image of a buffer; null if it is none.
const WorkspaceImage* ImageOfBuffer(const std::vector<WorkspaceImage>& images,
                                    const BufferNode& buffer);

/// Returns true if a loop of 4 iterations over this variable accesses the elements of one texel, in
/// order.
bool IsWholeTexel(const std::vector<Expr>& indices, const Expr& lane);

/// Row and column of a texel.
struct TexelPlace {
  Expr row, column;
};
/// Returns the texel of an element. indices: one for each dimension of the
/// image's buffer.
TexelPlace TexelOf(const WorkspaceImage& image, const std::vector<Expr>& indices);

/// Returns the statement with accesses to places outside of an image moved to
/// the end of its buffer, where a check of addresses finds them: a column that
/// is too large would be a place in the next row.
Stmt WithImageBounds(const Stmt& stmt, const std::vector<WorkspaceImage>& images);

}  // namespace tilewright
