// The plain code of Parquet, which mdstream::compiled leaves out: few programs link Arrow.

#include <mdstream/raw/detail/impl/arrow_values.ipp>
#include <mdstream/raw/detail/impl/parquet.ipp>
