// A C++ client: NVIDIA's own wrapper with its scoped ranges, domains and categories.
#include <nvtx3/nvtx3.hpp>

struct library_domain {
    static constexpr const char *name{"a C++ library"};
};

struct network_category {
    static constexpr const char *name{"network"};
    static constexpr uint32_t id{3};
};

int main()
{
    NVTX3_FUNC_RANGE();
    {
        nvtx3::scoped_range_in<library_domain> range{
            "scoped", nvtx3::rgb{1, 2, 3}, nvtx3::payload{17},
            nvtx3::named_category_in<library_domain>::get<network_category>()};
        nvtx3::mark_in<library_domain>("marked");
    }
    nvtx3::unique_range unique{"unique"};
    return 0;
}
