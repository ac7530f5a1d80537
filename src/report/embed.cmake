# Embeds the page of `tilewright report` in the program: the assembler reads the files of the page,
# and Chart.js of Debian's libjs-chart.js, through a source generated here. Without Chart.js, the
# program prints which package to install.
find_file(TILEWRIGHT_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
          NO_DEFAULT_PATH)
if(NOT TILEWRIGHT_CHART_JS)
  message(STATUS "No Chart.js (libjs-chart.js): tilewright report makes no pages")
endif()
find_library(SODIUM_LIBRARY sodium REQUIRED)
set(page_folder ${CMAKE_CURRENT_SOURCE_DIR}/page)
set(page_html ${page_folder}/report.html)
set(page_style ${page_folder}/report.css)
set(page_theme ${page_folder}/theme.js)
set(page_script "")
foreach(file core save overview task knobs plots trials network formats bench app)
  list(APPEND page_script ${page_folder}/${file}.js)
endforeach()
set(page_charts "")
if(TILEWRIGHT_CHART_JS)
  set(page_charts ${TILEWRIGHT_CHART_JS})
endif()
set(page_code "#include \"src/report/page.h\"\n")
set(page_fields "")
set(page_files "")
foreach(part html style theme script charts)
  set(incbin "")
  foreach(file IN LISTS page_${part})
    string(APPEND incbin ".incbin \\\"${file}\\\"\\n")
    list(APPEND page_files ${file})
  endforeach()
  string(APPEND page_code
    "asm(\".pushsection .rodata, \\\"a\\\", @progbits\\n\"\n"
    "    \"tw_page_${part}:\\n${incbin}tw_page_${part}_end:\\n\"\n"
    "    \".byte 0\\n.popsection\\n\");\n"
    "extern \"C\" const char tw_page_${part}[], tw_page_${part}_end[];\n")
  string(APPEND page_fields "          {tw_page_${part}, tw_page_${part}_end},\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/report_page_files.cc CONTENT
"${page_code}namespace tilewright::report {
PageParts BuiltInParts() {
  return {
${page_fields}  };
}
}  // namespace tilewright::report
" @ONLY)
target_sources(tw_report PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/report_page_files.cc)
set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/report_page_files.cc PROPERTIES
                            SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON
                            OBJECT_DEPENDS "${page_files}")
target_link_libraries(tw_report PRIVATE ${SODIUM_LIBRARY})
