/** The operator table of the default scenario's GPU, without its ending: a page that is opened with no other scenario asks for it. */
export const TABLE_OF_DEFAULT = 'kernels_h100_sxm';
