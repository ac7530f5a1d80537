#pragma once

// Report of a search of two sites, for tests.

#include <cmath>

#include "src/optimize/search_report.h"

namespace tilewright::optimize {

inline Combination SampleCombination(const char* code, double ratio, double decibels,
                                     double max_error) {
  Combination one;
  one.formats = *ParseCode(code);
  one.kernels = "0123456789abcdef";
  one.ratio = one.predicted_ratio = ratio;
  one.search.relative_noise = decibels > 0 ? std::pow(10, -decibels / 10) : 0;
  one.search.max_error = max_error;
  one.predicted_noise = one.search.relative_noise;
  one.held_out = one.search;
  one.on_front = true;
  return one;
}

/// int8 (0.4 of 10 ms, 22 dB), mixed (0.6, 35 dB), bfloat16 (0.7, 50 dB) and float32.
inline SearchReport SampleReport() {
  SearchReport report;
  report.network = "sample";
  report.split = {{0, 1}, {2, 3}, {4, 5, 6, 7}};
  report.calibrations = {{Calibration{}, 0.01}};
  report.ranges = {{"%1 uint8", 3.5}, {"%x", 1.25}};
  for (const char* name : {"%1", "%3"}) {
    SiteReport site;
    site.site = {name, "conv2d", {std::begin(kFormats), std::end(kFormats)}, "", -1, 64};
    site.seconds = {4e-3, 3e-3, 2e-3};
    site.noise = {0, 1e-5, 3e-3};
    site.why = "fastest";
    report.sites.push_back(site);
  }
  report.sites[1].site.before = 0;
  report.sites[0].chosen = Format::kInt8;
  report.sites[1].chosen = Format::kBFloat16;
  report.combinations = {SampleCombination("ii", 0.4, 22, 0.4),
                         SampleCombination("ib", 0.6, 35, 0.3),
                         SampleCombination("bb", 0.7, 50, 0.1), SampleCombination("ff", 1, 0, 0)};
  report.predicted_front = {{1, 0}, {0.72, 1e-5}, {0.45, 8e-3}};
  report.chosen = 1;
  report.float32_seconds = 10e-3;
  report.seconds = 6e-3;
  report.reason = "the fastest that keeps sqnr>=30 on the held-out part (35)";
  return report;
}

}  // namespace tilewright::optimize
