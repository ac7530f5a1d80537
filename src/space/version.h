#pragma once

namespace tilewright {

/// Raised whenever the code made from one Program may change; stored with every trial, and a record
/// of another version is not served. Where only the code of one kind of targets changes, the versions of all its templates
/// are raised instead, so that records of the others stay. It stands here, below both, because the record store compares
/// it and only the code generator may change it.
inline constexpr int kCodegenVersion = 1;

}  // namespace tilewright
