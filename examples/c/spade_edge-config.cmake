# For CMake: find_package(spade_edge CONFIG PATHS FOLDER), then target_link_libraries(PROGRAM spade_edge::spade_edge). It stands
# beside the header and the library, shared or static, in the folder.
get_filename_component(_spade_edge "${CMAKE_CURRENT_LIST_FILE}" PATH)
find_library(SPADE_EDGE_LIBRARY spade_edge PATHS "${_spade_edge}" NO_DEFAULT_PATH)
if(NOT SPADE_EDGE_LIBRARY)
  set(spade_edge_FOUND FALSE)
  set(spade_edge_NOT_FOUND_MESSAGE "no libspade_edge in ${_spade_edge}: build it there as README.md says")
elseif(NOT TARGET spade_edge::spade_edge)
  find_package(Threads REQUIRED)
  add_library(spade_edge::spade_edge UNKNOWN IMPORTED)
  set_target_properties(spade_edge::spade_edge PROPERTIES IMPORTED_LOCATION "${SPADE_EDGE_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${_spade_edge}" INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
