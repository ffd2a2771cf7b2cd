/// Some films, for runs without a file.
let ownFilms = """
  [
    {"title": "Le Voyage dans la Lune", "year": 1902, "cast": ["Georges Méliès", "Bleuette Bernon"], "genres": ["Science Fiction", "Silent"], "href": "A_Trip_to_the_Moon"},
    {"title": "Nosferatu", "year": 1922, "cast": ["Max Schreck", "Greta Schröder"], "genres": ["Horror", "Silent"], "href": "Nosferatu"},
    {"title": "Die Abenteuer des Prinzen Achmed", "year": 1926, "cast": [], "genres": ["Animated", "Silent"], "href": null, "director": "Lotte Reiniger"},
    {"title": "Metropolis", "year": 1927, "cast": ["Brigitte Helm", "Alfred Abel", "Gustav Fröhlich"], "genres": ["Science Fiction", "Silent"], "href": "Metropolis_(1927_film)", "extract": "A city above, and another one below."},
    {"title": "Man with a Movie Camera", "year": 1929, "cast": [], "genres": ["Documentary", "Silent"], "href": "Man_with_a_Movie_Camera", "director": "Dziga Vertov"},
    {"title": "M", "year": 1931, "cast": ["Peter Lorre", "Ellen Widmann"], "genres": ["Thriller"], "href": "M_(1931_film)"},
    {"title": "Casablanca", "year": 1942, "cast": ["Humphrey Bogart", "Ingrid Bergman"], "genres": ["Drama", "Romance"], "href": "Casablanca_(film)"},
    {"title": "Ladri di biciclette", "year": 1948, "cast": ["Lamberto Maggiorani", "Enzo Staiola"], "genres": ["Drama"], "href": "Bicycle_Thieves"},
    {"title": "Rashomon", "year": 1950, "cast": ["Toshiro Mifune", "Machiko Kyō"], "genres": ["Crime", "Drama"], "href": "Rashomon"},
    {"title": "Some Like It Hot", "year": 1959, "cast": ["Marilyn Monroe", "Tony Curtis", "Jack Lemmon"], "genres": ["Comedy"], "href": "Some_Like_It_Hot"},
    {"title": "La Jetée", "year": "1962", "cast": ["Hélène Chatelain", "Davos Hanich"], "genres": ["Science Fiction"], "href": "La_Jetée", "minutes": 28.0},
    {"title": "Playtime", "year": 1967, "cast": ["Jacques Tati"], "genres": ["Comedy"], "href": "Playtime", "thumbnail": null}
  ]
  """
