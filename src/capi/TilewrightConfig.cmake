# find_package(Tilewright [COMPONENTS capi tuner]): Tilewright::Tilewright is the C interface, which is
# always there; Tilewright::Tuner the tuner for C++, which is installed apart.
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
        "no component ${component} of Tilewright here, expected capi, or tuner where that is installed (libtilewright-tuner-dev)")
  endif()
endforeach()
