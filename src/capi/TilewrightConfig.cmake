# find_package(Tilewright [COMPONENTS capi tuner]): Tilewright::Tilewright is the C interface, always
# present; Tilewright::Tuner is the tuner for C++, installed separately.
include(${CMAKE_CURRENT_LIST_DIR}/TilewrightTargets.cmake)
set(Tilewright_capi_FOUND TRUE)
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/TilewrightTunerTargets.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/TilewrightTunerTargets.cmake)
  set(Tilewright_tuner_FOUND TRUE)
endif()
foreach(component IN LISTS Tilewright_FIND_COMPONENTS)
  if(Tilewright_FIND_REQUIRED_${component} AND NOT Tilewright_${component}_FOUND)
    set(Tilewright_FOUND FALSE)
    set(Tilewright_NOT_FOUND_MESSAGE
        "Tilewright has no component ${component}, expected capi, or tuner if libtilewright-tuner-dev is installed")
  endif()
endforeach()
