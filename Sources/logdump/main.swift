import Divan
